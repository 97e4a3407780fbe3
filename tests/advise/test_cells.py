"""Where compilers are raced besides the first batch size, precision and number of threads."""

from __future__ import annotations

import pytest
from racing import CLEAR, Simulated, raced
from synthetic import skipped

from pytest_ngraph.advise.limits import Limits
from pytest_ngraph.advise.lines import sentence
from pytest_ngraph.case import Case
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.record import Agreement, Record

TIMES = {"identity": 0.02, "onnxruntime": 0.005, "openvino": 0.015, "torchscript": 0.017}


class Without(Simulated):
    """Skips the cases of a compiler at a size, in a precision or with threads: those whose id ends in this text."""

    def __init__(self, *skipped_ids: str) -> None:
        super().__init__(TIMES)
        self._skipped = skipped_ids

    def _record(self, case: Case, is_wanted: bool) -> Record:
        return skipped(case, "it cannot") if case.id.endswith(self._skipped) else super()._record(case, is_wanted)


def test_other_cells_are_raced_with_the_leaders_and_with_what_failed_in_the_first() -> None:
    found, measure = raced(Simulated(CLEAR), batch_sizes=(1, 4), devices=(Device(name="cpu"), Device(name="cpu@1")))
    *cells, _ = [group for group in measure.taken if not any(each.endswith("b1-cpu") for each in group)]
    raced_there = {tuple(sorted(each.partition("-")[0] for each in group)) for group in cells}
    assert len(cells) == 3
    assert raced_there == {("identity", "onnxruntime", "openvino:streams=2", "torchscript", "tvm")}
    assert found.pick is not None
    assert found.pick.case.batch_size == 4, "a batch of four takes three times as long"


@pytest.mark.parametrize(
    ("batch_sizes", "limits", "picked"),
    [((4, 1), Limits(p99_s=0.01), 1), ((1, 4), Limits(throughput=150), 4)],
    ids=["p99", "throughput"],
)
def test_a_limit_that_nothing_keeps_at_the_first_batch_may_be_kept_at_another(
    batch_sizes: tuple[int, ...], limits: Limits, picked: int
) -> None:
    found, _ = raced(Simulated(CLEAR | {"openvino:streams=2": 0.007}), limits, batch_sizes=batch_sizes)
    assert found.pick is not None
    assert found.pick.case.batch_size == picked
    assert "openvino" in found.pick.case.compiler


def test_who_breaches_a_limit_at_the_first_batch_is_tried_at_another_beside_who_keeps_it() -> None:
    wrong = {"agreement": Agreement(error=1e-3, tolerance=1e-2)}
    _, measure = raced(Simulated(CLEAR, openvino=wrong), Limits(error=1e-5), batch_sizes=(1, 4))
    (other,) = [group for group in measure.taken if "openvino-b4-cpu" in group]
    assert {"onnxruntime-b4-cpu", "torchscript-b4-cpu"} <= {*other}


def test_what_cannot_run_in_the_first_precision_is_raced_in_the_others() -> None:
    found, _ = raced(Without("onnxruntime-b1-bf16-cpu"), precisions=("bf16", "fp32"))
    assert found.pick is not None
    assert (found.pick.case.compiler, found.pick.case.precision) == ("onnxruntime", "fp32")


def test_what_no_cell_has_shown_is_tried_until_one_does() -> None:
    measure = Without("onnxruntime-b1-bf16-cpu", "onnxruntime-b4-bf16-cpu", "torchscript-b1-bf16-cpu")
    found, _ = raced(measure, precisions=("bf16", "fp32"), batch_sizes=(1, 4))
    assert found.pick is not None
    assert (found.pick.case.compiler, found.pick.case.precision) == ("onnxruntime", "fp32")
    assert {each.case.batch_size for each in found.candidates if each.case.compiler == "onnxruntime"} == {1, 4}


@pytest.mark.parametrize("batch_sizes", [(1, 4), (1, 2, 4)], ids=["second", "third"])
def test_the_race_begins_where_something_can_be_measured(batch_sizes: tuple[int, ...]) -> None:
    found, measure = raced(Without("b1-cpu", "b2-cpu"), batch_sizes=batch_sizes)
    assert found.pick is not None
    assert found.pick.case.batch_size == 4
    assert any("onnxruntime:rewrite=true-b4-cpu" in group for group in measure.taken), "its options are tried"
    assert "Deploy `onnxruntime" in sentence(found)
