"""Which record is deployed, and what is refused: one message each, with the next step."""

from __future__ import annotations

import dataclasses

import pytest
from synthetic import overloaded, under_load

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.costs import Costs
from pytest_ngraph.deploy import choice
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine import provenance
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.record import Failure, Record, Round
from pytest_ngraph.store import Run


def measured(compiler: str, seconds: float = 0.5, **values: object) -> Record:
    case = Case(**{"workload": "conv", "compiler": compiler, "batch_size": 1} | values)  # type: ignore[arg-type]
    return Record(case=case, outcome="measured", rounds=(Round(1, seconds),) * 6)


def run_of(*records: Record) -> Run:
    return Run(id="a-run", records=records)


def traced(record: Record, threads: int | None = None) -> Record:
    """Return the record as it was measured on this machine now."""
    target = BUILT_IN["cpu"].target(record.case, this_machine(), threads)
    follows_from = provenance.of_compiling(record.case, target, "a-graph") | {"files": {}}
    return dataclasses.replace(record, follows_from=follows_from)


RUN = run_of(measured("identity"), measured("openvino"), measured("openvino", batch_size=8))


@pytest.mark.parametrize(
    "given", ["conv-openvino-b8-cpu", "openvino-b8", "benchmarks/test_a.py::test[conv-openvino-b8-cpu]", "b8"]
)
def test_a_case_by_its_id_or_a_part_that_only_it_has_or_its_test(given: str) -> None:
    assert choice.by_id(RUN, given).case.id == "conv-openvino-b8-cpu"


def test_an_id_that_is_a_part_of_another_is_that_case() -> None:
    run = run_of(measured("tvm", workload="conv"), measured("tvm", workload="longconv"))
    assert choice.by_id(run, "conv-tvm-b1-cpu").case.workload == "conv"


def test_an_unknown_case_is_one_message_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"run a-run has no case .* Nearest: conv-openvino-b8-cpu,"):
        choice.by_id(RUN, "conv-openvno-b8-cpu")
    with pytest.raises(UsageError, match="Nearest: none, it has no record"):
        choice.by_id(run_of(), "conv-openvino-b8-cpu")


def test_a_part_of_several_cases_is_one_message_that_lists_them() -> None:
    with pytest.raises(UsageError) as error:
        choice.by_id(RUN, "openvino")
    assert str(error.value) == (
        "'openvino' is part of 2 cases of run a-run: conv-openvino-b1-cpu, conv-openvino-b8-cpu. Give more of the id."
    )


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (Record.skipped(RUN.records[0].case, "no GPU"), r"it is skipped \(no GPU\)"),
        (
            Record.failed(RUN.records[0].case, Failure(phase="compile", kind="raised", message="no kernel")),
            r"it is failed \(compile: no kernel\)",
        ),
        (dataclasses.replace(RUN.records[0], outcome="unchanged"), r"it is unchanged \(it equals its base"),
    ],
)
def test_a_case_without_a_measurement_is_refused_with_the_reason(record: Record, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        choice.by_id(run_of(record), "conv-identity-b1-cpu")


def test_the_fastest_of_each_group() -> None:
    failed = Record.failed(measured("tvm").case, Failure(phase="compile", kind="raised", message="no"))
    run = run_of(measured("identity", 0.5), failed, measured("openvino", 0.2), measured("identity", 3, batch_size=8))
    assert [record.case.id for record in choice.fastest(run)] == ["conv-openvino-b1-cpu", "conv-identity-b8-cpu"]
    with pytest.raises(UsageError, match="run a-run has no measurement to deploy"):
        choice.fastest(run_of(failed))


def test_under_load_the_highest_rate_is_the_fastest() -> None:
    slower, faster = under_load("openvino", 0.02, 40.0, 41.0), under_load("onnxruntime", 0.01, 30.0, 31.0)
    assert choice.fastest(run_of(faster, slower)) == [slower]
    assert choice.fastest(run_of(faster, slower, under_load("tvm", 0.005))) == [slower], "nothing is known of its rate"


def test_what_crashed_under_load_is_not_the_fastest() -> None:
    kept, crashed = under_load("identity", 0.02, 40.0, 41.0), overloaded("openvino", 0.01, 90.0, 91.0)
    assert choice.fastest(run_of(kept, crashed)) == [kept]
    assert choice.require_deployable(kept) == kept
    assert choice.fastest(run_of(crashed)) == [crashed], "there is no other, so that it ends in a message"
    with pytest.raises(UsageError, match=r"openvino-b1-serving-xeon is not deployed: failed under load: crashed"):
        choice.require_deployable(crashed)


def test_a_folder_that_does_not_serve_is_not_the_fastest() -> None:
    kept, problem = measured("identity", 0.5), Costs(problem="it cannot be deployed: no package")
    lazy = dataclasses.replace(measured("inductor", 0.1), facts={"ahead_of_time": "False"})
    assert choice.fastest(run_of(kept, lazy)) == [kept], "also where what serving costs was not measured"
    assert choice.fastest(run_of(kept, dataclasses.replace(measured("openvino", 0.2), serving=problem))) == [kept]


def test_it_is_compiled_for_the_threads_that_it_was_measured_with() -> None:
    record = traced(measured("identity"), threads=1)
    assert choice.target_of(record, BUILT_IN) == Target(cores=this_machine().cores[:1])


def test_what_has_changed_since_is_named() -> None:
    record = traced(measured("identity"))
    older = record.follows_from | {"libraries": record.follows_from["libraries"] | {"torch": "1.0"}}
    with pytest.raises(UsageError, match=r"not what was measured: libraries: torch 1\.0 -> .*Measure it again"):
        choice.target_of(dataclasses.replace(record, follows_from=older), BUILT_IN)


def test_a_changed_source_file_is_named() -> None:
    record = traced(measured("identity"))
    changed = record.follows_from | {"files": {"/gone/nets.py": "an-older-digest"}}
    with pytest.raises(UsageError, match=r"nets\.py changed"):
        choice.target_of(dataclasses.replace(record, follows_from=changed), BUILT_IN)


def test_a_compiler_that_is_not_installed_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilers, "missing_library", lambda text: f"{text} needs a library")
    with pytest.raises(UsageError, match="openvino needs a library"):
        choice.target_of(traced(measured("openvino")), BUILT_IN)


def test_another_machine_or_an_unknown_device_is_refused() -> None:
    with pytest.raises(UsageError, match=r"unknown device 'orin-2'.*--devices=FILE"):
        choice.target_of(measured("identity", device="orin-2"), BUILT_IN)
    if not this_machine().gpus:
        with pytest.raises(UsageError, match=r"needs a CUDA GPU.*Deploy on the device itself"):
            choice.target_of(measured("identity", device="gpu"), BUILT_IN)


def test_a_record_that_does_not_say_what_it_depends_on_is_refused() -> None:
    with pytest.raises(UsageError, match="the record of conv-identity-b1-cpu does not say from which graph"):
        choice.target_of(measured("identity"), BUILT_IN)
