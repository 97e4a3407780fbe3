from __future__ import annotations

import csv
import dataclasses
import math
from pathlib import Path
from typing import Any

import formula
import pytest
from launched import costs
from synthetic import case, measured

from pytest_ngraph.artifact import Model
from pytest_ngraph.case import Case
from pytest_ngraph.metrics import Metric
from pytest_ngraph.record import Record, Round
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables import TABLES
from pytest_ngraph.stats import Estimate
from pytest_ngraph.store import Run

DATA = Path(__file__).parents[2] / "data"


def study_of(*records: Record, **environment: str) -> Study:
    return Study.of([Run(id="1", environment=environment, records=records)])


def rows(name: str, study: Study, **values: object) -> list[dict[str, Any]]:
    frame = TABLES[name](study).frame
    return frame.filter(**values).rows(named=True) if values else frame.rows(named=True)


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_rows_of_the_synthetic_study_or_says_what_is_missing(name: str, synthetic: Study) -> None:
    full, empty = TABLES[name](synthetic), TABLES[name](Study())
    assert full.name == empty.name == name
    assert full.note == empty.note != ""
    assert empty.frame.is_empty()
    assert empty.missing
    assert (full.missing == "") == (name not in ("side_by_side", "changes", "own", "growth", "scaling", "tails"))


def test_devices_and_their_libraries(synthetic: Study) -> None:
    (gpu,) = rows("devices", synthetic, device="gpu")
    assert (gpu["processor"], gpu["logical CPUs"], gpu["gpu"]) == ("AMD Ryzen 7 5700G", "8", "RTX 4070")
    one, other = (
        Run(id=str(n), environment={"torch": version}, records=(measured(case(device=device), 1.0),))
        for n, (device, version) in enumerate([("xeon", "2.15.0"), ("orin", "2.9.1")])
    )
    assert rows("libraries", Study.of([one, other])) == [
        {"library": "torch", "version": "2.9.1", "by_device": "2.15.0 (xeon), 2.9.1 (orin)"}
    ]


def test_compile_times_are_those_of_the_largest_models(synthetic: Study) -> None:
    found = rows("compile_times", synthetic, batch_size=16)
    assert [row["label"] for row in found] == [name for name in formula.MODELS if synthetic_size(name) == "large"]
    assert found[0]["xeon tvm"] == pytest.approx(600 * 1.3)
    assert found[0]["orin tensorrt"] == pytest.approx(20 * 1.3)


def synthetic_size(workload: str) -> str:
    from pytest_ngraph.report.study.families import architecture

    return architecture(workload).size


def test_architectures_are_those_of_the_study_to_the_digit(synthetic: Study) -> None:
    with (DATA / "table4_models.csv").open() as file:
        expected = [
            (row["paper_name"], row["style"], int(row["parameters"]), int(row["torchinfo_mult_adds_at_224"]))
            for row in csv.DictReader(file)
        ]
    found = TABLES["architectures"](synthetic).frame
    assert found.select("architecture", "style", "parameters", "macs").rows() == expected


def test_blocks_are_those_of_the_study_to_the_digit(synthetic: Study) -> None:
    found = {(row["block"], row["width"]): row["parameters_per_block"] for row in rows("blocks", synthetic)}
    assert found == {key: count for key, count in formula.PER_BLOCK.items() if key[1] in formula.WIDTHS[key[0]]}


def test_each_device_has_the_compile_times_of_its_own_largest_batch_size() -> None:
    measured_at = [("xeon", 1), ("xeon", 4), ("xeon", 16), ("orin", 1), ("orin", 4)]
    cases = [case("tvm", size, device=device) for device, size in measured_at]
    found = rows("compile_times", study_of(*(measured(each, 0.1, compile_s=float(each.batch_size)) for each in cases)))
    assert [(row["batch_size"], row["xeon tvm"], row["orin tvm"]) for row in found] == [
        (1, 1.0, 1.0),
        (4, None, 4.0),
        (16, 16.0, None),
    ]


def test_one_depth_says_what_the_blocks_need() -> None:
    study = study_of(measured(case(workload="conv", depth=1, width=64), 1.0))
    assert TABLES["blocks"](study).missing == "needs conv or mha at two depths or more"


def test_families_by_hand() -> None:
    """Two ResNets at batch sizes 2 and 4: four cells, one of which failed."""

    def record(workload: str, size: int, throughput: float, cpu: float) -> Record:
        # Rounds at 9, 10 and 11 tenths of the seconds, so that the median is exact and the deviation is known.
        seconds = size / throughput
        rounds = tuple(Round(1, seconds * tenths / 10) for tenths in (9, 10, 11))
        return dataclasses.replace(measured(case("tvm", size, workload=workload), 1.0, cpu_percent=cpu), rounds=rounds)

    failed = dataclasses.replace(record("resnet50", 4, 1.0, 0.0), outcome="failed", rounds=())
    cells = [("resnet18", 2, 100.0, 40.0), ("resnet18", 4, 200.0, 50.0), ("resnet50", 2, 30.0, 60.0)]
    study = study_of(*(record(*cell) for cell in cells), failed)
    (found,) = rows("families", study)
    assert (found["family"], found["device"], found["compiler"], found["batch_sizes"]) == (
        "ResNet",
        "xeon",
        "tvm",
        "2-4",
    )
    assert found["throughput"] == pytest.approx((100 + 200 + 30) / 3)
    rates = (10 / 9, 1.0, 10 / 11)
    mean = sum(rates) / 3
    deviation = math.sqrt(sum((rate - mean) ** 2 for rate in rates) / 2)
    squares = [(deviation * throughput) ** 2 for throughput in (100, 200, 30)]
    assert found["throughput_sd"] == pytest.approx(math.sqrt(sum(squares) / 3))
    assert (found["cpu_percent"], found["cpu_percent_sd"]) == (pytest.approx(50.0), pytest.approx(10.0))
    assert (found["cells"], found["cells_asked_for"]) == (3, 4)


@pytest.mark.parametrize(("block", "width"), [("conv", 64), ("mha", 128)])
def test_depth_by_hand(block: str, width: int) -> None:
    """Speedups of 2, 3 and 5 at depths 1, 2 and 3: slope 1.5, retention 2.5."""
    at = {"workload": block, "width": width}
    study = study_of(
        *(measured(case("identity", 8, depth=depth, **at), 1.0) for depth in (1, 2, 3)),
        *(measured(case("openvino", 8, depth=depth, **at), 1 / s) for depth, s in ((1, 2.0), (2, 3.0), (3, 5.0))),
    )
    (found,) = rows(f"depth_{block}", study)
    assert (found["device"], found["compiler"], found["width"], found["batch_size"]) == ("xeon", "openvino", width, 8)
    assert found["depth_slope"] == pytest.approx(1.5)
    assert found["depth_retention"] == pytest.approx(2.5)
    assert found["depth_slope_low"] == pytest.approx(1.5)
    assert found["absent"] == ""


def test_blocks_with_arguments_have_rows_of_their_own() -> None:
    at: dict[str, Any] = {"workload": "mha", "width": 64}
    stacks = [(depth, args) for args in ((), (("heads", 4),)) for depth in (1, 2)]
    study = study_of(
        *(measured(case("identity", 8, depth=d, model_args=args, **at), 1.0) for d, args in stacks),
        *(measured(case("openvino", 8, depth=d, model_args=args, **at), 1 / (d + len(args))) for d, args in stacks),
    )
    found = {str(row["label"]): row["depth_retention"] for row in rows("depth_mha", study)}
    assert found == {"mha": pytest.approx(2.0), "mha,heads=4": pytest.approx(1.5)}


def test_depth_of_the_formula_and_a_stack_that_was_skipped(synthetic: Study) -> None:
    (found,) = rows("depth_conv", synthetic, device="xeon", compiler="openvino", width=96, batch_size=8)
    assert found["depth_slope"] == pytest.approx(formula.SLOPE * 8 ** (0.9 - 0.7))
    assert found["depth_retention"] == pytest.approx((2.0 + 5 * formula.SLOPE) / 2.0)
    skipped = rows("depth_conv", synthetic, device="orin")
    assert {row["depth_slope"] for row in skipped} == {None}
    assert all("was skipped" in str(row["absent"]) for row in skipped)


def test_friction_of_the_formula(synthetic: Study) -> None:
    (found,) = rows("friction", synthetic, device="gpu", compiler="tensorrt", label="resnet50")
    assert found["friction"] == pytest.approx(0.6)
    assert found["friction_mitigation"] == pytest.approx(0.3)


def test_break_even_by_hand() -> None:
    study = study_of(
        measured(case("identity", 4), 0.4),
        measured(case("openvino", 4), 0.2, compile_s=10.0),
        measured(case("tvm", 4), 0.8, compile_s=10.0),
    )
    faster, slower = rows("break_even", study)
    assert faster["break_even_samples"] == pytest.approx(10 / (0.1 - 0.05))
    assert faster["break_even_s"] == pytest.approx(200 * 0.05)
    assert slower["break_even_samples"] == math.inf


def test_deploy_names_the_fastest_of_each_goal_and_says_whether_it_is_sure() -> None:
    study = study_of(
        measured(case("identity", 1), 0.010),
        measured(case("openvino", 1), 0.005),
        measured(case("identity", 8), 0.030),
        measured(case("openvino", 8), 0.041),
        measured(case("tvm", 8), 0.029),
    )
    throughput, latency = rows("deploy", study)
    assert (latency["goal"], latency["compiler"], latency["batch_size"]) == ("lowest latency", "openvino", 1)
    assert (latency["runner_up"], latency["sure"], latency["speedup"]) == ("identity", True, pytest.approx(2.0))
    assert (throughput["goal"], throughput["compiler"], throughput["batch_size"]) == ("highest throughput", "tvm", 8)
    assert (throughput["runner_up"], throughput["sure"]) == ("identity", False), "processes differ by more than 3 %"


def test_deploy_is_not_sure_with_too_few_rounds_or_without_a_choice() -> None:
    few = study_of(measured(case("identity"), 0.01, rounds=3), measured(case("openvino"), 0.005, rounds=3))
    assert [row["sure"] for row in rows("deploy", few)] == [False, False]
    alone = study_of(measured(case("identity"), 0.01))
    assert [(row["sure"], row["runner_up"]) for row in rows("deploy", alone)] == [(False, None)] * 2


def test_inversions_come_strongest_first(synthetic: Study) -> None:
    found = rows("inversions", synthetic)
    strengths = [min(row["before_low"], 1 / row["after_high"]) for row in found]
    assert strengths == sorted(strengths, reverse=True)


def test_failures_show_why(synthetic: Study) -> None:
    (found,) = rows("failures", synthetic, label="swin_s3_base_224", compiler="openvino")
    assert found["reason"] == "disagreed in verify: output 0 differs by 0.3"
    assert rows("failures", synthetic, device="orin")[0]["reason"] == "skipped: TensorRT has no plugin for it"
    assert TABLES["failures"](study_of(measured(case(), 1.0))).missing == "every case was measured"


def test_changes_between_two_stores() -> None:
    slower, same, gone, new = (Case(workload=name, compiler="tvm", batch_size=1) for name in ("a", "b", "c", "d"))
    before = Run(id="1", records=tuple(measured(each, 1.0) for each in (slower, same, gone)))
    after = Run(id="2", records=(measured(slower, 1.1), measured(same, 1.0), measured(new, 1.0)))
    found = rows("changes", Study.of([after], before=[before]))
    assert found[0]["change_percent"] == pytest.approx(10.0)
    assert {row["label"]: row["change"] for row in found} == {
        "a": "slower",
        "b": "too close to call",
        "c": "missing",
        "d": "new",
    }


def test_widths_of_the_users_own_model_are_not_mixed() -> None:
    own = [
        measured(
            case("tvm", workload="encoder:build", width=width), 1.0, compile_s=float(width), model=Model(flops=width)
        )
        for width in (32, 64)
    ]
    study = study_of(*own)
    assert [(row["width"], row["xeon tvm"]) for row in rows("compile_times", study)] == [(32, 32.0), (64, 64.0)]
    assert [(row["width"], row["flops"]) for row in rows("architectures", study)] == [(32, 32), (64, 64)]


def test_what_to_deploy_where_several_run_at_a_time() -> None:
    alone = measured(case("tvm", 8), 1.0)
    together = measured(case("openvino", 1, objective="throughput"), 0.01)
    throughput, latency = rows("deploy", study_of(alone, together))
    assert (latency["goal"], latency["compiler"], latency["latency_s"]) == ("lowest latency", "tvm", 1.0)
    assert (throughput["goal"], throughput["compiler"]) == ("highest throughput", "openvino")
    assert throughput["latency_s"] is None, "seconds per iteration are not the latency of one"


def test_metrics_of_the_users_own() -> None:
    record = measured(case("tvm"), 1.0)
    mine = Metric("mine.score", record.case, Estimate(2.0, 1.0, 3.0))
    study = Study.of([Run(id="1", environment={}, records=(record,))], own=[mine])
    (row,) = rows("own", study)
    assert (row["metric"], row["compiler"], row["value"], row["low"]) == ("mine.score", "tvm", 2.0, 1.0)


def test_tails_have_the_percentiles_that_there_are_enough_calls_for() -> None:
    slow = tuple([0.01] * 980 + [0.05] * 20)
    study = study_of(
        measured(case("identity"), 0.01, calls=(0.01,) * 100),
        measured(case("tvm"), 0.01, calls=slow),
        measured(case("openvino"), 0.01),
    )
    worst, other = rows("tails", study)
    assert (worst["compiler"], worst["p50_s"], worst["p99_s"], worst["tail"]) == ("tvm", 0.01, 0.05, pytest.approx(5.0))
    assert worst["p99_low_s"] <= 0.05
    assert (other["compiler"], other["p95_s"], other["p99_s"], other["tail"]) == ("identity", 0.01, None, None)


def test_what_to_deploy_shows_what_serving_costs_where_it_was_measured() -> None:
    study = study_of(measured(case("openvino"), 0.01, serving=costs()), measured(case("identity"), 0.02))
    (row, _) = rows("deploy", study)
    assert (row["cold_start_s"], row["serving_memory_bytes"]) == (0.5, 100 * 2**20)
    assert (row["artifact_bytes"], row["install_bytes"]) == (40 * 2**20, 200 * 2**20)
    assert "cold_start_s" in study.metrics["metric"]
    plain = study_of(measured(case("openvino"), 0.01))
    assert rows("deploy", plain)[0]["cold_start_s"] is None
    assert "cold_start_s" not in plain.metrics["metric"], "no rows that only say what was not asked for"
