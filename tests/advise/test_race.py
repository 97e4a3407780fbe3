"""The race and its answer, with a measurer whose cases have true times."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from launched import costs
from racing import CLEAR, CLOSE, Simulated, raced
from synthetic import noisy

from pytest_ngraph.advise.limits import Limits
from pytest_ngraph.advise.lines import lines, sentence
from pytest_ngraph.advise.race import NO_HOPE, NO_TIME
from pytest_ngraph.case import Case, CompilerSpec
from pytest_ngraph.cli.advise import status_of
from pytest_ngraph.record import Agreement, Record
from pytest_ngraph.wording import counted

HIGH = Limits(memory_bytes=2.0**50)
"""A limit that everything keeps, once its costs are measured."""


def test_a_clear_winner_is_sure() -> None:
    found, measure = raced(Simulated(CLEAR))
    assert found.pick is not None
    assert found.pick.case.compiler == "openvino:streams=2"
    assert found.is_sure
    assert found.doubts == []
    assert measure.budgets == [0.5, 1.0], "without limits, the rung of options is the last one"
    first, last = measure.taken
    assert len(first) == 5
    assert "torchscript-b1-cpu" not in last, "it takes more than twice as long as the fastest"
    assert {"openvino:streams=2-b1-cpu", "openvino-b1-cpu", "onnxruntime:rewrite=true-b1-cpu"} <= set(last)
    assert last[0] == "identity-b1-cpu"
    assert "openvino:streams=2" in measure.wanted[-1]
    assert [case.compiler for case in found.dropped] == ["tvm"]


def test_what_limits_ask_for_is_measured_of_leaders_of_different_compilers() -> None:
    found, measure = raced(Simulated(CLEAR), HIGH)
    assert found.is_sure
    assert measure.budgets == [0.5, 1.0, 5.0], "each rung measures for twice as long, and the last one as a plain run"
    assert measure.wanted[:2] == [[], []]
    assert measure.wanted[-1][0] == "openvino:streams=2"
    assert len({CompilerSpec.parse(each).name for each in measure.wanted[-1]}) == len(measure.wanted[-1]) == 3


def test_the_leaders_have_what_is_left() -> None:
    found, measure = raced(Simulated(CLEAR), HIGH, budget_s=100.0)
    left_s = 100 - 5 * (5 + len(measure.taken[1]))
    assert measure.budgets[-1] == round(0.3 * left_s / 4) < 5
    assert found.is_sure


def test_options_of_a_hopeless_compiler_are_not_tried_and_the_answer_says_so() -> None:
    seconds = {**CLEAR, "onnxruntime": 0.017, "onnxruntime:rewrite=true": 0.016}
    found, measure = raced(Simulated(seconds))
    assert "onnxruntime:rewrite=true-b1-cpu" not in measure.taken[1]
    assert {case.compiler: reason for case, reason in found.dropped.items()}["onnxruntime:rewrite=true"] == NO_HOPE
    assert any(line.endswith(f"`onnxruntime:rewrite=true` at batch 1: {NO_HOPE}") for line in lines(found, 200))


def test_options_are_tried_of_a_compiler_that_is_surely_slower() -> None:
    """An option may gain more than what its compiler lags behind."""
    found, measure = raced(Simulated({**CLEAR, "onnxruntime:rewrite=true": 0.005}))
    assert "onnxruntime-b1-cpu" not in measure.taken[1], "it is surely slower, and by far"
    assert found.pick is not None
    assert found.pick.case.compiler == "onnxruntime:rewrite=true"
    assert found.is_sure


def test_who_is_close_leaves_the_pick_unsure() -> None:
    found, _ = raced(Simulated(CLOSE))
    assert found.pick is not None
    assert not found.is_sure
    assert found.pick.case.compiler == "openvino:streams=2"
    assert "onnxruntime" in {each.case.compiler for each in found.close}
    assert "torchscript" not in {each.case.compiler for each in found.close}
    assert ", not sure; onnxruntime" in sentence(found)


def test_the_sentence_the_command_and_what_else_was_tried() -> None:
    found, _ = raced(Simulated(CLEAR))
    command = "  pytest-ngraph deploy a-run --case net-openvino:streams=2-b1-cpu -o service"
    narrow = list(lines(found, 60))
    assert command in narrow, "what is copied stays whole"
    assert all(len(line) <= 60 for line in narrow if line != command)
    shown = list(lines(found, 200))
    assert shown[0].startswith("Deploy `openvino:streams=2` at batch 1: 70 % [")
    assert "] less time than eager, p99 6.00 ms, " in shown[0]
    assert shown[0].endswith(", sure.")
    assert shown[1] == command
    assert any(line.startswith("  `torchscript` at batch 1: 17.0 ms a sample; surely slower than ") for line in shown)
    assert any(line.startswith("  `tvm` at batch 1: failed, raised in compile: ") for line in shown)


def test_a_limit_on_p99_takes_the_smaller_batch() -> None:
    found, _ = raced(Simulated(CLEAR), Limits(p99_s=0.01), batch_sizes=(1, 4))
    assert found.pick is not None
    assert (found.pick.case.compiler, found.pick.case.batch_size) == ("openvino:streams=2", 1)
    assert any("above the limit of 10.0 ms on p99" in text for each in found.candidates for text in each.breaches)


def test_a_limit_on_the_error_drops_before_anything_is_measured_twice() -> None:
    wrong = {"agreement": Agreement(error=5e-3, tolerance=1e-2)}
    found, measure = raced(Simulated(CLEAR, openvino=wrong), Limits(error=1e-3))
    assert found.pick is not None
    assert found.pick.case.compiler == "onnxruntime"
    assert found.is_sure
    assert not any("openvino:streams=2" in each for group in measure.taken for each in group)


def test_the_next_ones_are_measured_where_the_leaders_breach_a_limit() -> None:
    """The leaders' memory is known only once they were served."""
    limits = Limits(memory_bytes=1.0)
    found, measure = raced(Simulated(CLEAR), limits)
    assert found.pick is None
    assert len(measure.wanted[3:]) >= 1
    assert status_of(found) == 1
    assert "Nothing that was tried keeps the limits. The fastest, `openvino:streams=2` at batch 1: memory " in sentence(
        found
    )


def test_the_next_ones_are_not_measured_where_the_budget_has_no_time_for_them() -> None:
    _, measure = raced(Simulated(CLEAR, case_s=20.0), Limits(memory_bytes=1.0), budget_s=400.0)
    assert len(measure.wanted[2:]) > 1, "the next ones were measured once"
    assert measure.now <= 400
    assert len(measure.wanted[-1]) == 3
    every = {case for group in measure.taken for case in group}
    assert len(every) > sum(map(len, measure.wanted)), "some are left"


def test_who_was_not_held_to_a_limit_may_keep_it() -> None:
    """The budget ends with the finalists, which breach it."""
    found, _ = raced(Simulated(CLEAR), Limits(memory_bytes=1.0), budget_s=50.0, batch_sizes=(1, 4))
    assert found.pick is None
    assert len([each for each in found.candidates if each.breaches]) == 3
    assert len(found.unheld) >= 1
    assert status_of(found) == 3
    assert found.to_dict()["may_keep"] == [each.case.id for each in found.unheld]
    assert sentence(found) == (
        f"Nothing is known to keep the limits: of {counted(len(found.unheld), 'candidate')} that may keep them, the "
        "budget had no time to measure memory. Give a larger --budget."
    )


def test_what_the_budget_has_no_time_for_is_said() -> None:
    found, measure = raced(Simulated(CLEAR, case_s=10.0), budget_s=80.0)
    untimed = list(found.dropped.values()).count(NO_TIME)
    assert untimed
    assert found.pick is not None
    every = len(found.candidates) + len(found.dropped)
    assert f"; the budget had no time for {untimed} of {every} candidates." in sentence(found)
    assert len(measure.taken) >= 2


@pytest.mark.parametrize("batch_sizes", [(1,), (1, 4, 8)])
def test_slow_calls_keep_the_budget(batch_sizes: tuple[int, ...]) -> None:
    """However short a rung is, twelve rounds are made: with warming up and verifying, 17 calls."""

    class Slow(Simulated):
        decided_at = 0.0

        def __call__(
            self, cases: Sequence[Case], budget_s: float, left_s: float, wanted: Sequence[Case]
        ) -> list[Record]:
            if wanted and not self.decided_at:
                self.decided_at = self.now
            found = super().__call__(cases, budget_s, left_s, wanted)
            self.now += sum(17 * each.case.batch_size / each.throughput for each in found if each.rounds)
            return found

    seconds = {compiler: 100 * each for compiler, each in CLOSE.items()}
    found, measure = raced(Slow(seconds), budget_s=600.0, batch_sizes=batch_sizes)
    assert found.pick is not None
    assert isinstance(measure, Slow)
    assert measure.decided_at <= 0.6 * 600, "the rest is left for the leaders"


def test_everything_that_fails_ends_in_a_sentence() -> None:
    found, _ = raced(Simulated({}))
    assert found.pick is None
    assert sentence(found) == "Nothing to deploy: no candidate could be measured."
    assert found.to_dict()["pick"] is None


def test_a_compiler_that_is_not_asked_for_is_not_picked() -> None:
    found, measure = raced(Simulated({"identity": 0.1, "openvino": 1.0}), compilers=("openvino",))
    assert found.pick is not None
    assert found.pick.case.compiler == "openvino"
    assert measure.taken[0] == ["identity-b1-cpu", "openvino-b1-cpu"], "identity is what a speedup refers to"
    assert "more time than eager" in sentence(found)


@pytest.mark.parametrize("width", [60, 100])
def test_lines_fit(width: int) -> None:
    found, _ = raced(Simulated(CLOSE))
    table = [line for line in lines(found, width) if line.startswith("   ") and "sample" not in line]
    assert all(len(line) <= width for line in table)


def test_who_may_be_faster_than_a_finalist_that_keeps_the_limits_is_measured_too() -> None:
    """The fastest needs too much memory; its compiler's default, which was no leader, may not."""
    heavy = dataclasses.replace(costs(), launches=tuple(
        dataclasses.replace(launch, serving_memory_bytes=2**40) for launch in costs().launches
    ))  # fmt: skip

    class Heavy(Simulated):
        def _record(self, case: Case, is_wanted: bool) -> Record:
            record = super()._record(case, is_wanted)
            is_heavy = is_wanted and case.compiler == "openvino:streams=2"
            return dataclasses.replace(record, serving=heavy) if is_heavy else record

    found, measure = raced(Heavy(CLEAR), Limits(memory_bytes=2**35))
    assert found.pick is not None
    assert found.pick.case.compiler == "openvino"
    assert found.is_sure
    assert [each[0] for each in measure.wanted if each] == ["openvino:streams=2", "openvino"]


def test_who_is_slow_to_compile_is_measured_again_where_it_is_not_surely_slower() -> None:
    """Its compiled model is kept, so that compiling it costs nothing the second time."""

    class Noisy(Simulated):
        def _record(self, case: Case, is_wanted: bool) -> Record:
            record = super()._record(case, is_wanted)
            is_first = case.compiler == "tvm" and len(self.taken) == 1
            return noisy(case, 0.01, spread=0.5, compile_s=200.0, load_s=0.5) if is_first else record

    found, measure = raced(Noisy({**CLEAR, "tvm": 0.015}))
    assert "tvm-b1-cpu" in measure.taken[1]
    assert found.is_sure


def test_a_finalist_keeps_its_costs_when_it_is_measured_again_beside_others() -> None:
    """Identity is a finalist and turns out slower than an option that was none, which is measured beside it."""

    class Slowing(Simulated):
        """Finalists take longer from the last rung on."""

        def _record(self, case: Case, is_wanted: bool) -> Record:
            if is_wanted and len([each for each in self.wanted if each]) == 1:
                self._seconds = {**self._seconds, case.compiler: 0.015}
            return super()._record(case, is_wanted)

    measure = Slowing({"identity": 0.01, "onnxruntime": 0.0101, "onnxruntime:rewrite=true": 0.012})
    found, _ = raced(measure, HIGH, compilers=("identity", "onnxruntime"))
    assert [each[0] for each in measure.wanted if each] == ["identity", "onnxruntime:rewrite=true"]
    assert all(each.record.serving is not None for each in found.candidates)


def test_a_score_stands_beside_speed_in_the_limits_the_sentence_the_table_and_the_front() -> None:
    simulated = Simulated(
        {"identity": 0.010, "openvino": 0.004, "onnxruntime": 0.005},
        identity={"score": 0.9},
        openvino={"score": 0.7},
        onnxruntime={"score": 0.9},
    )
    found, _ = raced(simulated, limits=Limits(score=0.8))
    assert found.pick
    assert found.pick.case.compiler == "onnxruntime"
    assert "score 0.900, sure" in sentence(found)
    text = "\n".join(lines(found, 120))
    assert "score 0.700, below 0.800" in text
    assert " score\n" in text
    assert found.to_dict()["candidates"][0]["score"] == 0.7
    fast, slow, _ = raced(simulated)[0].candidates
    assert fast.is_on_front
    assert slow.is_on_front, "slower, and it scores more"


def test_what_cannot_be_shown_is_not_put_down_to_the_budget() -> None:
    """The kernel of macOS does not report the memory."""
    launches = tuple(dataclasses.replace(launch, serving_memory_bytes=None) for launch in costs().launches)
    silent = dataclasses.replace(costs(), launches=launches)

    class Silent(Simulated):
        def _record(self, case: Case, is_wanted: bool) -> Record:
            record = super()._record(case, is_wanted)
            return dataclasses.replace(record, serving=silent) if is_wanted else record

    found, _ = raced(Silent(CLEAR), Limits(memory_bytes=2**35), batch_sizes=(1, 4))
    assert found.unheld
    assert status_of(found) == 3
    assert sentence(found) == (
        "Nothing is known to keep the limits. The fastest, `openvino:streams=2` at batch 4: memory not measured: the "
        "kernel does not report it."
    )
    few: dict[str, object] = {"calls": (0.006,) * 300}
    found, _ = raced(Simulated(CLEAR, openvino=few, onnxruntime=few, torchscript=few), Limits(p99_s=10.0))
    assert sentence(found).endswith("p99 not measured: only 300 of 368 calls fit into the budget.")
