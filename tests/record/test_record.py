from __future__ import annotations

import dataclasses
import json

import pytest
from synthetic import case, measured

from pytest_ngraph.artifact import Model
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.record import Agreement, Contention, Failure, Record, Round, Warmup
from pytest_ngraph.stats import intervals_of_rounds


@pytest.fixture
def record(a_case: Case) -> Record:
    return Record(
        case=a_case,
        outcome="measured",
        rounds=(Round(10, 0.1), Round(10, 0.3), Round(5, 0.1)),
        agreement=Agreement(error=1e-6, tolerance=1e-4),
        warmup=Warmup(iterations=3, elapsed_s=0.5, steady=True),
        contention=Contention(pressure_percent=1.5),
        model=Model(parameters=7),
        arms=("identity", "openvino"),
        facts={"version": "1"},
    )


def test_samples_are_seconds_per_iteration(record: Record) -> None:
    assert record.samples.tolist() == [0.01, 0.03, 0.02]
    assert record.latency_s == 0.02


def test_throughput_counts_samples(record: Record) -> None:
    assert record.throughput == 8 / 0.02


def test_round_trip_through_json(record: Record) -> None:
    assert Record.from_dict(json.loads(json.dumps(record.to_dict()))) == record


def test_a_record_without_cycles_can_be_read(record: Record) -> None:
    """Those of earlier versions have none: their arms are taken for independent."""
    written = record.to_dict()
    del written["cycles"]
    assert Record.from_dict(written) == record


def test_a_record_of_an_earlier_version_can_be_read(record: Record) -> None:
    """It has the seconds of converting in those of compiling, and another name for the memory."""
    written = record.to_dict() | {"compile_s": 5.0, "peak_memory_bytes": 7}
    for name in ("convert_s", "compile_cores", "worker_memory_bytes"):
        del written[name]
    read = Record.from_dict(written)
    assert read == dataclasses.replace(record, compile_s=5.0, worker_memory_bytes=7)
    assert read.total_compile_s == 5.0


def test_converting_and_compiling_are_read_together(record: Record) -> None:
    compiled = dataclasses.replace(record, convert_s=2.0, compile_s=3.0, cpu_percent=50.0)
    assert compiled.total_compile_s == 5.0
    assert (compiled.reading("compile_s"), compiled.reading("cpu_percent")) == (5.0, 50.0)
    assert record.total_compile_s is None


def test_a_problem_is_why_there_is_no_measurement(record: Record, a_case: Case) -> None:
    failure = Failure(phase="compile", kind="raised", message="no such operator")
    assert Record.failed(a_case, failure).problem == "no such operator"
    assert Record.skipped(a_case, "there is no GPU").problem == "there is no GPU"
    for without in (record, Record.unchanged(a_case, Comparison(same=True), Model())):
        assert without.problem == ""


def test_failed_record_round_trip(a_case: Case) -> None:
    failed = Record(
        case=a_case,
        outcome="failed",
        failure=Failure(phase="compile", kind="crashed", message="SIGSEGV", stderr_tail="x"),
    )
    assert Record.from_dict(json.loads(json.dumps(failed.to_dict()))) == failed


def test_the_interval_of_the_throughput_is_that_of_the_median_turned_over() -> None:
    record = measured(case(batch_size=8), [0.1 + 0.01 * number for number in range(11)])
    found, seconds = record.throughput_interval, intervals_of_rounds(record.samples[None, :])[0]
    assert found == (8 / seconds.value, 8 / seconds.high, 8 / seconds.low)
    assert found.value == record.throughput
    few = measured(case(), 0.5, rounds=2).throughput_interval
    assert few.value == 2
    assert not few.is_bounded


def test_threads_are_the_cores_of_the_target_or_their_number_under_a_quota(a_case: Case) -> None:
    def record(cores: object) -> Record:
        return Record(case=a_case, outcome="measured", follows_from={"target": {"cores": cores}})

    assert record([2, 3]).threads == 2
    assert record(4).threads == 4
    assert Record(case=a_case, outcome="measured").threads is None
