"""What fails a test, and what is left for the run to fail for."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from changing import MAIN, Base, known
from synthetic import case, measured

from pytest_ngraph.against.options import GateOptions, Policy
from pytest_ngraph.errors import UsageError
from pytest_ngraph.gate import Threshold, Verdict
from pytest_ngraph.gate.verdict import VerdictName
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.record import Record
from pytest_ngraph.session.judgement import Judgement
from pytest_ngraph.session.options import Axis, Options
from pytest_ngraph.settings import Settings

AXES = ("devices", "compilers", "batch_sizes", "precisions", "objectives")
ONE, EIGHT = case("tvm", 1), case("tvm", 8)


class Decided(Base):
    """Its verdicts were there before any record."""

    def judge(self, record: Record) -> None:
        assert record.case in self.verdicts


def judgement(
    *thresholds: str, policy: Policy = "warn", by: float = 0.0, error: float = 0.002, **names: str
) -> Judgement:
    """Of a session that measured two cases beside a base. by: what both became slower by, for the metrics. names: of
    the verdicts on them."""
    called: dict[str, VerdictName] = {"one": "unchanged", "eight": "unchanged"} | names  # type: ignore[assignment]
    verdicts = {
        each: Verdict(case=each, name=called[name], against=MAIN) for name, each in (("one", ONE), ("eight", EIGHT))
    }
    base = Decided(times={ONE: known(0.0), EIGHT: known(by, error)}, verdicts=verdicts)
    options = Options(
        inventory=dict(BUILT_IN),
        settings=Settings(),
        store=Path("store"),
        thresholds=tuple(map(Threshold.parse, thresholds)),
        gate=GateOptions(against="main", inconclusive=policy),
        **dict.fromkeys(AXES, Axis(None, None)),  # type: ignore[arg-type]  # by name
    )
    ours = Judgement(options, [base], lambda records: ())
    ours.hold_to_bases([ONE, EIGHT])
    ours.add(measured(ONE, 0.1))
    ours.add(measured(EIGHT, 0.2))
    return ours


def unanswered(ours: Judgement) -> list[str]:
    """What fails the run at its end, because no test has failed for it."""
    conclusion = ours.conclude()
    assert conclusion
    return conclusion.unanswered


def test_a_verdict_that_a_test_failed_for_fails_the_run_no_more() -> None:
    ours = judgement(eight="regressed")
    assert [ours.fails(verdict) for verdict in ours.verdicts_of(EIGHT)] == [True]
    assert unanswered(ours) == []


@pytest.mark.parametrize(
    ("name", "policy", "fails"),
    [
        ("regressed", "pass", True),
        ("inconclusive", "fail", True),
        ("inconclusive", "warn", False),
        ("new", "fail", False),
    ],
)
def test_a_verdict_that_no_test_asked_for_fails_the_run(name: VerdictName, policy: Policy, *, fails: bool) -> None:
    """Its test may have been skipped by its own body, after its group was measured."""
    breaches = unanswered(judgement(eight=name, policy=policy))
    assert [text.partition(":")[0] for text in breaches] == [f"{EIGHT.id} {name}"] * fails


def test_what_spans_cases_fails_the_run() -> None:
    assert [text.partition(" ")[0] for text in unanswered(judgement("friction:0.05", by=0.5))] == ["friction:0.05"]


@pytest.mark.parametrize(("policy", "failures"), [("warn", 0), ("pass", 0), ("fail", 1)])
def test_a_metric_that_cannot_be_decided_fails_the_run_where_the_policy_says_so(policy: Policy, failures: int) -> None:
    ours = judgement("friction:0.05", by=0.1, error=0.2, policy=policy)
    conclusion = ours.conclude()
    assert conclusion
    assert len(conclusion.unanswered) == failures
    assert [each.name for each in conclusion.metric_verdicts] == ["inconclusive"]


def test_a_metric_that_a_test_failed_for_fails_the_run_no_more() -> None:
    ours = judgement("throughput:5%", by=0.5)
    assert [ours.fails(verdict) for verdict in ours.metric_verdicts_of(EIGHT)] == [True]
    assert unanswered(ours) == []


@pytest.mark.parametrize(("text", "is_refused"), [("worker_memory>1GiB", True), ("throughput<1", False)])
def test_a_goal_of_limits_needs_one_that_rounds_show(text: str, *, is_refused: bool) -> None:
    options = Options(
        inventory=dict(BUILT_IN),
        settings=Settings(goal="threshold"),
        store=Path("store"),
        thresholds=(Threshold.parse(text),),
        **dict.fromkeys(AXES, Axis(None, None)),  # type: ignore[arg-type]  # by name
    )
    ours = Judgement(options, [], lambda records: ())
    refused = pytest.raises(UsageError, match="no threshold limits throughput, latency_s or speedup")
    with refused if is_refused else nullcontext():
        ours.hold_to_bases([ONE, EIGHT])
    limits, family = ours.knowledge_of_limits
    assert (set(limits), family) == (set() if is_refused else {ONE, EIGHT}, 2)
