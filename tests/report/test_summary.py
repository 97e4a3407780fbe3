from __future__ import annotations

import pytest
from launched import costs
from synthetic import case, failed, measured, noisy, skipped

from pytest_ngraph.artifact import CAVEAT, Model
from pytest_ngraph.costs import Costs
from pytest_ngraph.gate import Threshold, check
from pytest_ngraph.metrics import Metric, compute
from pytest_ngraph.record import Agreement, Contention, Record
from pytest_ngraph.report.lines import MARKUP, Line
from pytest_ngraph.report.summary import LEGEND, summary
from pytest_ngraph.stats import Estimate


def lines(records: list[Record], *thresholds: str, width: int = 80) -> list[Line]:
    metrics = compute(records)
    return summary(records, metrics, check([Threshold.parse(text) for text in thresholds], metrics), width)


def texts(records: list[Record], *thresholds: str, width: int = 80) -> list[str]:
    return [line.text for line in lines(records, *thresholds, width=width)]


def wide_run() -> list[Record]:
    agreement = Agreement(error=3e-7, tolerance=1e-4)
    model = Model(parameters=28_328_674, flops=8_740_000_000)
    return [
        noisy(
            case(compiler, b, workload=workload),
            seconds * b**0.9,
            seed=b,
            agreement=agreement,
            model=model,
            compile_s=None if compiler == "identity" else 3.2,
            cpu_percent=88.2,
            worker_memory_bytes=900 * 2**20,
        )
        for workload, fast in (("swin_s3_tiny_224", 0.01), ("resnet18", 0.04))
        for b in (1, 8)
        for compiler, seconds in (("identity", 0.03 - fast / 4), ("openvino:streams=4", fast))
    ]


def test_a_whole_block() -> None:
    records = [
        measured(case("openvino", 8), 0.04, compile_s=3.2),
        measured(case("identity", 8), 0.08),
        measured(case("identity", 1), 0.02, model=Model(parameters=11_689_512)),
        skipped(case("tvm", 1), "tvm needs tvm, which is not installed: pip install apache-tvm"),
        failed(case("tvm", 8)),
        measured(case("openvino", 1), 0.01, stable=False, contention=Contention(pressure_percent=12.3)),
    ]
    assert texts(records)[:12] == [
        "resnet18 on xeon  fp32, latency, 11.7 M parameters",
        "    batch  compiler  samples/s   ±%  latency  speedup   RTR   ASE   BSR  compile",
        "        1  identity       50.0  0.0  20.0 ms     1.00  1.00  1.00  1.00     none",
        "        1  tvm       skipped: tvm needs tvm, which is not installed: pip inst...",
        "  *~    1  openvino        100  0.0  10.0 ms     2.00  1.00  1.00  1.00        -",
        "        8  identity        100  0.0  80.0 ms     1.00  2.00  0.25  1.00     none",
        "  *     8  openvino        200  0.0  40.0 ms     2.00  2.00  0.25  1.00   3.20 s",
        "        8  tvm       failed in compile: RuntimeError: no such operator",
        "  - compile: how long compiling takes by itself was not recorded",
        "  ~ openvino at batch size 1 did not settle in 11 rounds: CPU pressure 12 %",
        "",
        LEGEND,
    ]


def test_what_may_be_as_fast_in_other_processes_is_marked() -> None:
    seconds = {"identity": 0.04, "inductor": 0.0203, "openvino": 0.02}
    records = [measured(case(compiler, 1), each) for compiler, each in seconds.items()]
    marks = {line.split()[line.split().index("1") + 1]: line[2] for line in texts(records, width=120)[2:5]}
    assert marks == {"identity": " ", "inductor": "=", "openvino": "*"}


def test_what_disturbed_an_unstable_case_is_shown() -> None:
    hot = Contention(pressure_percent=0.1, steal_percent=3.0, throttles=2, asleep_s=61.2)
    records = [measured(case("identity", 1), 0.02), measured(case("tvm", 1), 0.01, stable=False, contention=hot)]
    doubt = "~ tvm at batch size 1 did not settle in 11 rounds: steal 3 %, throttled 2 times, suspended for 61 s"
    assert f"  {doubt}" in texts(records, width=120)


def test_who_ran_fewer_rounds_because_the_goal_was_reached_is_no_doubt() -> None:
    reason = "surely slower than openvino"
    records = [
        measured(case("openvino", 1), 0.01),
        measured(case("identity", 1), 0.02, stopped=reason),
        measured(case("tvm", 1), 0.03, stopped=reason),
    ]
    shown = texts(records, width=120)
    assert f"  fewer rounds of identity, tvm at batch size 1: {reason}, after 11 rounds" in shown
    assert not any("~" in line for line in shown[2:5])


def test_what_a_reader_must_know_of_how_a_model_ran_is_said_once() -> None:
    split = {CAVEAT: "runs on CUDAExecutionProvider 97.5 %, CPUExecutionProvider 2.5 % of 40 nodes"}
    records = [measured(case("onnxruntime", batch_size), 0.02, facts=split) for batch_size in (1, 8)]
    assert texts(records, width=120).count(f"  onnxruntime: {split[CAVEAT]}") == 1


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    records = [*wide_run(), failed(case("tvm", 8), "x" * 300), skipped(case("tensorrt", 8), "y " * 300)]
    shown = texts(records, "bsr<2", "speedup<100", "ase<1 if workload=vgg*", width=width)
    assert max(map(len, shown)) <= width
    assert all(ord(character) < 128 or character in "±×" for text in shown for character in text)


def columns(records: list[Record], width: int) -> list[str]:
    """Return the names of the first block's columns."""
    return next(line for line in texts(records, width=width) if line.startswith("    batch")).split()


def test_what_is_known_of_a_model_goes_below_a_long_name() -> None:
    records = [
        measured(case(workload="package.module:network"), 0.1, model=Model(parameters=272_000, flops=65_100_000))
    ]
    assert texts(records)[:2] == [
        "package.module:network on xeon",
        "  fp32, latency, 272 k parameters, 65.1 MFLOP a sample",
    ]
    assert texts(records, width=100)[0].endswith("on xeon  fp32, latency, 272 k parameters, 65.1 MFLOP a sample")


def test_narrow_terminals_lose_the_least_important_columns() -> None:
    headings = {width: set(columns(wide_run(), width)) for width in (60, 80, 140)}
    assert headings[60] < headings[80] < headings[140]
    assert {"samples/s", "±%", "speedup"} <= headings[60]
    assert {"RTR", "ASE", "BSR"} <= headings[80]
    assert {"latency", "CPU", "memory", "error"} <= headings[140]


def test_the_efficiency_of_large_batches_is_not_zero() -> None:
    shown = texts([measured(case("identity", size), 0.01 * size) for size in (1, 256)], width=120)
    assert "0.00391" in shown[3].split()


def test_absent_figures_are_explained_once() -> None:
    shown = texts([measured(case("identity", 8), 0.1), measured(case("openvino", 8), 0.1, rounds=2)])
    notes = [text for text in shown if text.startswith(("  -", "  ?"))]
    assert notes == [
        "  - RTR, ASE, BSR: batch size 1 was not measured",
        "  - compile: how long compiling takes by itself was not recorded",
        "  ? too few rounds for an interval",
    ]


def test_styles() -> None:
    records = [
        measured(case("identity"), 0.1),
        measured(case("openvino"), 0.05),
        measured(case("tvm"), 0.2, stable=False),
        failed(case("torchscript")),
        skipped(case("tensorrt"), "no GPU"),
    ]
    styles = {line.text.split()[-1] if "*" in line.text else line.text: line.style for line in lines(records)[2:7]}
    assert sorted(styles.values()) == ["bad", "best", "doubt", "note", "plain"]
    assert lines(records)[0].markup == {"bold": True}
    assert set(MARKUP) >= {line.style for line in lines(records)}


def test_single_compiler_is_not_called_the_fastest() -> None:
    assert not any(text.startswith("  *") for text in texts([measured(case(), 0.1)]))


def test_each_block_has_its_own_heading() -> None:
    records = [
        measured(case(workload="conv", depth=3, width=64), 0.1),
        measured(case(precision="bf16", objective="throughput"), 0.1),
        measured(case(device="orin"), 0.1),
    ]
    headings = [line.text for line in lines(records) if line.style == "heading"]
    assert headings == [
        "conv, depth 3, width 64 on xeon  fp32, latency",
        "resnet18 on xeon  bf16, throughput",
        "resnet18 on orin  fp32, latency",
    ]


def test_a_workload_in_types_of_its_own_names_them() -> None:
    records = [measured(case(), 0.1, facts={"precision": "bf16, fp32"}), measured(case("openvino"), 0.1)]
    assert texts(records)[0] == "resnet18 on xeon  bf16 and fp32, latency"


def test_findings_in_words() -> None:
    shown = " ".join(text.strip() for text in texts(wide_run()))
    assert "Friction as batches grow" in shown
    assert "swin_s3_tiny_224-identity-xeon: 0.898 [0.8" in shown
    assert "b=8 on xeon: resnet18 beats swin_s3_tiny_224 under identity (× 1.38" in shown
    assert "but loses under openvino:streams=4 (× 0.25" in shown
    assert "resnet18, openvino:streams=4 on xeon: never at b=1, never at b=8" in shown


def test_depth_in_words() -> None:
    records = [
        measured(case(compiler, 8, workload="conv", depth=depth, width=64), 0.1 / (speedup if compiler == "tvm" else 1))
        for depth, speedup in ((1, 2.0), (2, 3.0))
        for compiler in ("identity", "tvm")
    ]
    assert "  conv-tvm-b8-w64-xeon: 1.00 per block; deepest over single block 1.50" in texts(records)


def test_long_lists_are_cut() -> None:
    records = [noisy(case("tvm", b, workload=f"net{n}"), 0.1, seed=b) for n in range(20) for b in (1, 2)]
    assert "  ... and 8 more" in texts(records)


def test_own_metrics_are_shown() -> None:
    records = [measured(case(), 0.1)]
    metrics = compute(records, extra=[Metric("study.tcr_per_s", case(), Estimate(3.0, 2.0, 4.0))])
    assert "  resnet18-identity-b1-xeon: study.tcr_per_s 3.0 [2.0, 4.0]" in [
        line.text for line in summary(records, metrics)
    ]


def test_thresholds_are_counted_and_breaches_shown() -> None:
    records = [measured(case(), 0.1), measured(case("tvm"), 0.2, compile_s=1.0), failed(case("inductor"))]
    found = [
        (line.text, line.style)
        for line in lines(records, "speedup<1", "compile_s>1", "speedup<9 if device=orin", "rtr<0.1", width=120)
    ]
    assert ("Thresholds: 1 breached, 1 kept, 3 absent, 1 unmatched", "heading") in found
    breach = "  speedup<1 breached: resnet18-tvm-b1-xeon has speedup 0.50 [0.48, 0.52] (± 4.5 % between processes)"
    assert (breach, "bad") in found
    assert (
        "  between processes: as on machines in general (--ngraph-calibrate measures this machine)",
        "note",
    ) in found
    assert (
        "  compile_s>1 absent: inductor at batch size 1 failed in compile: RuntimeError: no such operator",
        "doubt",
    ) in found
    assert ("  speedup<9 if device=orin matches nothing that this run measured: device is xeon", "doubt") in found


def test_nothing_measured() -> None:
    assert texts([]) == ["nothing was measured"]


def test_contention_that_was_not_recorded_is_not_shown_as_quiet() -> None:
    records = [measured(case("identity", 1), 0.02), measured(case("tvm", 1), 0.01, stable=False)]
    assert "  ~ tvm at batch size 1 did not settle in 11 rounds: contention was not recorded" in texts(records)


def test_seconds_of_several_iterations_at_a_time_are_no_latency() -> None:
    heading = texts([measured(case("tvm", 1, objective="throughput"), 0.01)], width=120)[1]
    assert "iteration" in heading
    assert "latency" not in heading


def test_a_program_in_place_of_a_module_is_shown() -> None:
    beside_a_base, asked_for = "identity:channels_last=true", "identity:graph=program"
    records = [
        measured(case(name), 0.02, facts={"graph": graph})
        for name, graph in (("identity", "module"), (beside_a_base, "program"), (asked_for, "program"))
    ]
    notes = [text for text in texts(records, width=140) if "exported program" in text]
    note = "its exported program was measured, since only that can be compared with a base; the module may differ"
    assert notes == [f"  {beside_a_base}: {note}"]


def test_costs_to_serve_have_columns_where_they_were_measured() -> None:
    problem = "it cannot be deployed: it is for measuring only"
    records = [
        measured(case("openvino"), 0.01, serving=costs()),
        measured(case("tvm"), 0.02, serving=Costs(problem=problem)),
        measured(case("identity"), 0.03),
    ]
    shown = texts(records, width=120)
    for heading, value in (("cold start", "500 ms"), ("serving", "100 MiB"), ("files", "40.0 MiB")):
        assert heading in shown[1]
        assert value in shown[3]
    assert any(line.startswith(f"  - costs to serve under tvm: {problem}") for line in shown)
    assert any("the costs to serve were not measured; --ngraph-serving asks" in line for line in shown), "of identity"
    assert "cold start" not in texts(records[2:])[1]


def test_why_no_case_has_costs_is_said_although_there_are_no_columns() -> None:
    shown = texts([measured(case("tvm"), 0.02, serving=Costs(problem="it cannot be deployed: no"))])
    assert "cold start" not in shown[1]
    assert "  - costs to serve under tvm: it cannot be deployed: no" in shown
