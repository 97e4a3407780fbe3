"""What becomes of a test that has a case: it is skipped, fails or passes; and what fails the run at its end."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.plugin import items
from pytest_ngraph.plugin.assembly import SESSION
from pytest_ngraph.plugin.collected import collected
from pytest_ngraph.plugin.options import is_xdist_worker
from pytest_ngraph.plugin.replay import mark_for_replay, mark_group, observed_rounds
from pytest_ngraph.session.judgement import ACCEPT_BROKEN_BASE

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from pytest_ngraph.gate import MetricVerdict, Verdict
    from pytest_ngraph.record import Agreement, Failure, Record
    from pytest_ngraph.report.result import RunResult
    from pytest_ngraph.session.session import Session
    from pytest_ngraph.worker.prepare import Prepared

WHOLE = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
"""Exit statuses of a run that went to its end."""
VERDICT = "ngraph_verdict"
"""JUnit's property that has a verdict; that on a metric has its threshold in brackets."""
DETAILS = {"compared": "ngraph_compared", "margin": "ngraph_margin", "why": "ngraph_why"}
"""JUnit's properties for the details of a verdict."""
RESULT: pytest.StashKey[RunResult | None] = pytest.StashKey()
COMPILED: pytest.StashKey[dict[Case, tuple[Prepared, Agreement]]] = pytest.StashKey()
"""Of a test: the models that it compiled in its own process."""
MORE_TIME = "To give each phase more time: --ngraph-timeout=SECONDS."
SHOWN_STDERR = pytest.StashKey[dict[str, Case]]()
"""The tails of standard error that a failure has shown, each with the first case that it belongs to."""


def set_up(item: pytest.Item) -> None:
    """Skip a test that cannot run here, refuse to measure under pytest-xdist, and prepare pytest-benchmark."""
    case = items.case_of(item)
    if case is None:
        if is_xdist_worker(item.config) and (problem := items.useless_mark(item)):
            pytest.fail(problem, pytrace=False)
        return
    if is_xdist_worker(item.config):
        pytest.fail(
            "measurements on one machine disturb each other, so they cannot run under pytest-xdist. "
            "Run them in a session of their own without -n, or with -n 0.",
            pytrace=False,
        )
    if reason := items.obstacle(item, case):
        pytest.skip(reason)
    if items.measures(item):
        mark_for_replay(item, case)
    else:
        mark_group(item, case)


def require_measured(item: pytest.Item) -> None:
    """Skip or fail the test, before its body runs, when its case could not be measured or stored."""
    case = items.case_of(item)
    if case is not None and items.measures(item):
        require(item.config.stash[SESSION].record_of(case), item)


def require(record: Record, item: pytest.Item) -> None:
    """Skip or fail the test of a case that could not be measured or stored."""
    session = item.config.stash[SESSION]
    if failure := record.failure:
        if failure.stderr_tail:
            item.add_report_section("of the worker", "stderr", _stderr(record.case, failure, item.config))
        said = f"{record.case.compiler} {failure.kind} in {failure.phase}: {failure.message}"
        pytest.fail(f"{said}. {MORE_TIME}" if failure.kind == "timed out" else said, pytrace=False)
    if record.case in session.unsaved:
        pytest.fail(session.unsaved[record.case], pytrace=False)
    if record.outcome == "skipped":
        if problems := list(_failing(item, session.judgement.verdicts_of(record.case))):
            pytest.fail("\n".join(problems), pytrace=False)
        pytest.skip(record.skip_reason)


def _stderr(case: Case, failure: Failure, config: pytest.Config) -> str:
    """Return the end of what the worker wrote. It is shown once for all cases that share it."""
    first = config.stash.setdefault(SHOWN_STDERR, {}).setdefault(failure.stderr_tail, case)
    return failure.stderr_tail if first == case else f"the same as for {first.id}"


def apply_verdicts(item: pytest.Item) -> None:
    """After the test's body: take the record of what it measured itself, and fail it for what its case breaches."""
    case = items.case_of(item)
    if case is None:
        return
    session = item.config.stash[SESSION]
    if (record := _observed(item)) is not None:
        case = record.case
        _keep(record, session)
    judgement = session.judgement
    verdicts: list[Verdict | MetricVerdict] = [*judgement.verdicts_of(case), *judgement.metric_verdicts_of(case)]
    problems = [*judgement.breaches_of(case, item.nodeid), *_failing(item, verdicts)]
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def _observed(item: pytest.Item) -> Record | None:
    """Return the record of what a test has measured itself; None for nothing, and for several models."""
    compiled = item.stash.get(COMPILED, {})
    benchmark: BenchmarkFixture | None = getattr(item, "funcargs", {}).get("benchmark")
    if benchmark is None or benchmark.stats is None or len(compiled) != 1:
        return None
    from pytest_ngraph.record import Record
    from pytest_ngraph.worker.measure import is_precise

    ((case, (ready, agreement)),) = compiled.items()
    rounds = observed_rounds(benchmark, ready.model.concurrency)
    return Record(
        case=case,
        outcome="measured",
        nodeid=item.nodeid,
        started_at=time.time(),
        rounds=rounds,
        stable=is_precise(rounds, item.config.stash[SESSION].options.settings.precision_target),
        **ready.times,
        agreement=agreement,
        facts=ready.facts,
        arms=(case.compiler,),
    )


def _keep(record: Record, session: Session) -> None:
    """Store what a test has measured itself, unless the bench measures that case in a process of its own."""
    if session.expects(record.case):
        return
    session.add(record)
    if record.case in session.unsaved:
        pytest.fail(session.unsaved[record.case], pytrace=False)


def _failing(item: pytest.Item, verdicts: Sequence[Verdict | MetricVerdict]) -> Iterator[str]:
    """Note the verdicts for JUnit, and yield the text of what fails the test."""
    session = item.config.stash[SESSION]
    _note(item, verdicts)
    for verdict in verdicts:
        if session.judgement.fails(verdict):
            yield f"{verdict.text}. {ACCEPT_BROKEN_BASE}" if verdict.broken else verdict.text
            if "why" in verdict.details:
                yield f"  {verdict.details['why']}"
        elif session.judgement.warns(verdict):
            _warn(item, verdict.text)


def _warn(item: pytest.Item, text: str) -> None:
    """Show a warning, also where the project's filters make errors of warnings: a verdict that warns fails nothing."""
    try:
        item.warn(pytest.PytestWarning(text))
    except pytest.PytestWarning:
        with warnings.catch_warnings():
            warnings.simplefilter("always", pytest.PytestWarning)
            item.warn(pytest.PytestWarning(text))


def _note(item: pytest.Item, verdicts: Sequence[Verdict | MetricVerdict]) -> None:
    """Note the verdicts for JUnit, in place of those of an earlier try. Of several bases, the worst verdict counts."""
    from pytest_ngraph.report.comparison import ORDER

    found: dict[str, str] = {}
    for verdict in sorted(verdicts, key=lambda verdict: ORDER.index(verdict.name), reverse=True):
        found |= _properties(verdict)
    others = [each for each in item.user_properties if each[0].partition("[")[0] not in {VERDICT, *DETAILS.values()}]
    item.user_properties[:] = [*others, *((name, value) for name, value in found.items() if value)]


def _properties(verdict: Verdict | MetricVerdict) -> dict[str, str]:
    """Return what JUnit has of a verdict; empty texts for what the verdict lacks."""
    from pytest_ngraph.gate import Verdict

    if not isinstance(verdict, Verdict):
        return {f"{VERDICT}[{verdict.threshold}]": verdict.name}
    return {VERDICT: verdict.name} | {name: verdict.details.get(detail, "") for detail, name in DETAILS.items()}


def finish(session: pytest.Session, exitstatus: int) -> None:
    """Fail the run for problems that belong to no single test.

    Missing cases are reported, and the run is saved as a baseline, only if it was not cut short.
    """
    ours = session.config.stash[SESSION]
    is_whole = exitstatus in WHOLE and not (session.shouldstop or session.shouldfail or ours.is_cut_short)
    if is_whole:
        _require_baselines(session)
    result = ours.conclude(whole=is_whole)
    session.config.stash[RESULT] = result
    if result is not None and result.fails and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _require_baselines(session: pytest.Session) -> None:
    """Find cases that the stored baselines have and that this run should have measured."""
    config = session.config
    ours = config.stash[SESSION]
    if not ours.baselines:
        return
    selected = {case for item in session.items if (case := items.case_of(item)) is not None}
    for baseline in ours.baselines:
        baseline.require(selected, lambda case, nodeid: collected(config).lacks(case, nodeid, config, ours.options))
