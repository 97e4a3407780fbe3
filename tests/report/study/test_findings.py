from __future__ import annotations

from dataclasses import replace

from synthetic import case, measured

from pytest_ngraph.record import Record
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.findings import findings
from pytest_ngraph.store import Run


def texts_by_topic(study: Study) -> dict[str, str]:
    return {finding.topic: " ".join(finding.sentences) for finding in findings(study)}


def test_the_fastest_compiler_of_each_device(synthetic: Study) -> None:
    text = texts_by_topic(synthetic)["Fastest compiler"]
    assert "On orin, of 75 cells (a workload at a batch size): tensorrt is fastest in 75." in text
    assert "The greatest gain over identity: × " in text


def test_intervals_that_overlap_are_too_close_to_call() -> None:
    wide = [0.1 + 0.01 * number for number in range(11)]
    records = tuple(measured(case(compiler), wide) for compiler in ("identity", "tvm"))
    text = texts_by_topic(Study.of([Run(id="1", environment={}, records=records)]))
    assert text["Fastest compiler"] == "On xeon, of 1 cell (a workload at a batch size): 1 are too close to call."


def test_few_cells_are_named() -> None:
    def record(compiler: str, batch_size: int, seconds: float) -> Record:
        return measured(case(compiler, batch_size), [seconds + 1e-5 * number for number in range(11)])

    fast = [record("tvm", size, 0.1) for size in (1, 8)]
    slow = [record("identity", size, 0.2) for size in (1, 8)]
    text = texts_by_topic(Study.of([Run(id="1", environment={}, records=(*fast, *slow))]))
    assert "tvm is fastest in 2 (resnet18 at 1 and 8)." in text["Fastest compiler"]


def test_rank_inversions_are_reported_with_both_intervals(synthetic: Study) -> None:
    text = texts_by_topic(synthetic)["Rank inversions"]
    assert "Compiling reverses which of two workloads is faster in" in text
    assert "under identity, but × 0." in text


def test_batching_stops_paying_where_no_larger_batch_is_faster(synthetic: Study) -> None:
    text = texts_by_topic(synthetic)["Batching"]
    assert "1 for tvm" in text or "1 more" in text
    assert "16 for openvino" in text
    assert "tensorrt keeps most efficiency as batches grow: median friction 0.60" in text


def test_failures_and_unstable_cases_are_counted_with_the_reason(synthetic: Study) -> None:
    text = texts_by_topic(synthetic)["Failures and noise"]
    assert "tvm fails in 15 of 123 cases on xeon; most often: failed in compile: NotImplementedError: roll." in text
    assert "31 of onnxruntime on xeon" in text


def test_unstable_cases_of_further_compilers_are_counted_together() -> None:
    names = {"tvm": 3, "openvino": 2, "onnxruntime": 2, "inductor": 2, "torchscript": 1, "executorch": 1}
    cases = [case(name, size) for name, count in names.items() for size in range(1, count + 1)]
    records = tuple(replace(measured(each, 0.1), stable=False) for each in cases)
    text = texts_by_topic(Study.of([Run(id="1", environment={}, records=records)]))["Failures and noise"]
    assert "budget: 3 of tvm on xeon, 2 of " in text
    assert text.endswith("on xeon, 2 of 2 others.")


def test_an_empty_study_has_no_findings() -> None:
    assert findings(Study()) == []


def test_friction_is_compared_within_a_device_only() -> None:
    records = [
        measured(case("tvm", size, device=device), seconds)
        for device, by_size in (("xeon", {1: 0.1, 8: 0.8}), ("orin", {1: 0.1, 8: 0.2}))
        for size, seconds in by_size.items()
    ]
    text = texts_by_topic(Study.of([Run(id="1", environment={}, records=tuple(records))]))["Batching"]
    assert "On xeon, tvm keeps most efficiency" in text
    assert "On orin, tvm keeps most efficiency" in text
