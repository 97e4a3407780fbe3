from __future__ import annotations

import dataclasses
import math

import formula
import polars as pl
import pytest
from synthetic import case, noisy, unchanged

from pytest_ngraph.case import Case
from pytest_ngraph.report.study import columns
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables import TABLES
from pytest_ngraph.store import Run


def one(frame: pl.DataFrame, **values: object) -> dict[str, object]:
    """Return the one row that has these values."""
    return frame.filter(**values).row(0, named=True) if frame.filter(**values).height == 1 else {}


def test_frames_have_the_documented_columns(synthetic: Study) -> None:
    for name in ("cases", "metrics", "inversions", "machines", "records", "before"):
        assert getattr(synthetic, name).schema == pl.Schema(getattr(columns, name.upper(), columns.CASES)), name
        assert getattr(Study(), name).schema == getattr(synthetic, name).schema, name


def test_a_case_has_the_times_of_the_formula(synthetic: Study) -> None:
    case = Case(workload="resnet18", compiler="openvino", batch_size=8, device="xeon")
    row = one(synthetic.cases, case=case.id)
    assert row["latency_s"] == pytest.approx(formula.latency_s(case))
    assert row["throughput"] == pytest.approx(8 / formula.latency_s(case))
    assert row["throughput_low"] < row["throughput"] < row["throughput_high"]  # type: ignore[operator]
    assert (row["family"], row["size"], row["style"]) == ("ResNet", "small", "Convolutional")
    assert (row["outcome"], row["reason"], row["rounds"], row["run"]) == ("measured", "", 21, "2")


def test_of_equal_cases_the_newest_counts_wherever_it_stands() -> None:
    runs = formula.runs()[:2]
    case = Case(workload="resnet18", compiler="identity", batch_size=1, device="xeon")
    for order in (runs, runs[::-1]):
        study = Study.of(order)
        assert one(study.cases, case=case.id)["run"] == "2"
        assert study.records.filter(case=case.id)["run"].to_list() == ["1", "2"]


def test_what_a_gate_left_out_as_unchanged_replaces_no_measurement() -> None:
    of = case("tvm", 2)
    runs = [Run(id="1", records=(noisy(of, 0.1),)), Run(id="2", records=(unchanged(of, run="2", started_at=9.0),))]
    study = Study.of(runs)
    assert one(study.cases, case=of.id)["outcome"] == "measured"
    assert one(study.records, run="2")["outcome"] == "skipped"
    assert TABLES["families"](study).frame["throughput_sd"].item() > 0
    assert one(Study.of(runs[1:]).cases, case=of.id)["outcome"] == "skipped", "nothing else is known of it"


def test_records_hold_every_round(synthetic: Study) -> None:
    case = Case(workload="conv", compiler="identity", batch_size=8, depth=3, width=96, device="gpu")
    rounds = pl.concat(synthetic.rounds.frames(1000))
    records = pl.concat([synthetic.records, rounds], how="horizontal")
    row = one(records, case=case.id)
    assert row["iterations"] == [4] * formula.ROUNDS
    assert sorted(row["elapsed_s"])[10] / 4 == pytest.approx(formula.latency_s(case))  # type: ignore[call-overload]
    failed = records.filter(outcome="failed")
    assert failed["elapsed_s"].list.len().to_list() == [0] * failed.height


def test_metrics_are_those_of_the_formula(synthetic: Study) -> None:
    at = {"device": "xeon", "compiler": "openvino", "label": "resnet18"}
    bsr = one(synthetic.metrics, metric="bsr", batch_size=16, **at)
    assert bsr["value"] == pytest.approx(16 ** (0.9 - 0.7))
    friction = one(synthetic.metrics, metric="friction", **at)
    assert friction["value"] == pytest.approx(0.7)
    assert friction["batch_size"] is None
    absent = one(synthetic.metrics, metric="friction", device="xeon", compiler="tvm", label="swin_s3_base_224")
    assert absent["value"] is None
    assert "tvm at batch size" in str(absent["absent"])


def test_a_disagreement_and_a_skip_are_no_measurements(synthetic: Study) -> None:
    disagreed = Case(workload="swin_s3_base_224", compiler="openvino", batch_size=16, device="xeon")
    row = one(synthetic.cases, case=disagreed.id)
    assert (row["outcome"], row["throughput"]) == ("failed", None)
    assert row["reason"] == "disagreed in verify: output 0 differs by 0.3"
    assert synthetic.cases.filter(outcome="skipped")["device"].unique().to_list() == ["orin"]
    assert "failed" not in synthetic.measured["outcome"]


def test_too_few_rounds_have_no_bounds_and_never_paid_back_is_infinite() -> None:
    case = Case(workload="resnet18", compiler="identity", batch_size=1)
    of = {record.case: record for record in formula.runs()[1].records}
    identity = of[dataclasses.replace(case, device="xeon")]
    slow = of[dataclasses.replace(case, device="xeon", compiler="torchscript", workload="deit3_small_patch16_224")]
    fast = of[dataclasses.replace(case, device="xeon", workload="deit3_small_patch16_224")]
    brief = dataclasses.replace(identity, rounds=identity.rounds[:3])
    study = Study.of([Run(id="1", records=(brief, slow, fast))])
    row = one(study.cases, label="resnet18")
    assert (row["throughput_low"], row["throughput_high"]) == (None, None)
    assert one(study.metrics, metric="throughput", label="resnet18")["low"] is None
    break_even = one(study.metrics, metric="break_even", compiler="torchscript")
    assert break_even["value"] == math.inf


def test_machines_show_what_each_device_is(synthetic: Study) -> None:
    facts = synthetic.machines.filter(device="gpu", key="gpu")
    assert facts["value"].to_list() == ["RTX 4070"]
    assert synthetic.machines.filter(device="xeon")["run"].unique(maintain_order=True).to_list() == ["1", "2"]


def test_inversions_name_both_arms(synthetic: Study) -> None:
    found = synthetic.inversions.filter(
        reference_compiler="identity", compiler="openvino", reference_device="xeon", device="xeon", batch_size=1
    )
    pairs = found.select("workload_a", "workload_b").rows()
    assert ("deit3_small_patch16_224", "resnet18") in pairs
    assert (found["before_low"] > 1).all()
    assert (found["after_high"] < 1).all()


def _warnings(*environments: dict[str, str]) -> list[str]:
    record = formula.runs()[1].records[0]
    return Study.of(Run(id=str(i), environment=it, records=(record,)) for i, it in enumerate(environments)).warnings


def test_a_device_that_stands_for_several_machines_is_a_warning() -> None:
    one, two = ({"fingerprint": name, "earlier fingerprint": "alike"} for name in ("one", "two"))
    assert _warnings(one, one) == []
    assert "stands for 2 different machines" in _warnings(one, two)[0]


def test_runs_of_an_earlier_version_are_of_the_same_machine_if_they_are_alike() -> None:
    now, before = {"fingerprint": "one", "earlier fingerprint": "alike"}, {"fingerprint": "alike"}
    unknown = {"fingerprint": "other", "earlier fingerprint": "other"}  # no more is known of this one's processor
    assert _warnings(before, now) == _warnings(unknown, {"fingerprint": "other"}) == []
    assert "stands for 2 different machines" in _warnings(unknown, now)[0]
    assert "stands for 2 different machines" in _warnings({"fingerprint": "another"}, now)[0]
