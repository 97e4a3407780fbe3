"""Options that the budget had no time for at first are tried with what the leaders left of it."""

from __future__ import annotations

from racing import CLEAR, Simulated, raced

from pytest_ngraph.advise.limits import Limits
from pytest_ngraph.advise.race import NO_TIME
from pytest_ngraph.record import Record

SLOW = {"compile_s": 90.0}
"""Of a compiler: with two fifths left for the leaders, an option of it does not fit into 200 s at first."""
HIGH = Limits(memory_bytes=2.0**50)


def test_an_option_is_tried_when_the_leaders_left_time_for_it() -> None:
    found, measure = raced(Simulated(CLEAR, openvino=SLOW), HIGH, budget_s=200.0)
    assert "openvino:streams=2-b1-cpu" not in measure.taken[1]
    assert "openvino:streams=2-b1-cpu" in measure.taken[-2], "after the leaders"
    assert measure.taken[-2][0] == "identity-b1-cpu"
    assert "openvino-b1-cpu" in measure.taken[-2], "beside the fastest so far"
    assert measure.wanted[-1][0] == "openvino:streams=2", "it is the fastest, so that limits are measured of it"
    assert found.pick is not None
    assert found.pick.case.compiler == "openvino:streams=2"
    assert NO_TIME not in found.dropped.values()
    assert measure.now <= 200


def test_a_late_option_that_is_slower_changes_nothing() -> None:
    found, measure = raced(Simulated({**CLEAR, "openvino:streams=2": 0.009}, openvino=SLOW), HIGH, budget_s=200.0)
    assert "openvino:streams=2-b1-cpu" in measure.taken[-1]
    assert measure.wanted[-1] == ["openvino"]
    assert found.pick is not None
    assert found.pick.case.compiler == "openvino"
    assert "openvino:streams=2" in {each.case.compiler for each in found.candidates}


def test_what_still_does_not_fit_is_not_tried() -> None:
    class Taking(Simulated):
        """The leaders take all of the time."""

        def _record(self, case: object, is_wanted: bool) -> Record:
            self.now += 30.0 * is_wanted
            return super()._record(case, is_wanted)  # type: ignore[arg-type]

    found, measure = raced(Taking(CLEAR, openvino=SLOW), HIGH, budget_s=200.0)
    assert not any("openvino:streams=2-b1-cpu" in taken for taken in measure.taken)
    assert [case.compiler for case, reason in found.dropped.items() if reason == NO_TIME] == ["openvino:streams=2"]
