"""What happens to a test that has cases: generated, announced, set up, required to be measured, judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest
from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks

from pytest_ngraph.case import Case
from pytest_ngraph.errors import NgraphError, Unreachable, UsageError
from pytest_ngraph.machine.devices import Requirement
from pytest_ngraph.plugin import marks
from pytest_ngraph.plugin.fixtures import COMPILER_FIXTURES, SESSION, observed, require
from pytest_ngraph.plugin.options import is_xdist_worker, parse_thresholds
from pytest_ngraph.plugin.replay import mark_for_replay, mark_group
from pytest_ngraph.plugin.sigterm import end_on_sigterm

if TYPE_CHECKING:
    from pytest_ngraph.gate import Threshold
    from pytest_ngraph.gate.metric_verdict import MetricVerdict
    from pytest_ngraph.gate.verdict import Verdict
    from pytest_ngraph.plugin.collected import CollectedCases
    from pytest_ngraph.record import Record
    from pytest_ngraph.session.session import Session

WHOLE = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
"""The exit statuses of a run that went to its end."""
NOTHING_MEASURED = (
    "it is marked ngraph and takes none of the fixtures that a case has, so that nothing would be measured. Have it "
    "take one: def {name}(measurement)."
)
OBSTACLE = pytest.StashKey[str]()
MISTAKES = pytest.StashKey[list[str]]()
COLLECTED = pytest.StashKey["CollectedCases"]()


def parametrize(metafunc: pytest.Metafunc, config: pytest.Config) -> None:
    """Generate one test per case of a function that is marked `ngraph`. A mark that cannot be read is a mistake,
    told with all others once collection is over."""
    marked = marks.nearest_first(metafunc.definition)
    if not marked:
        return
    if "ngraph_case" not in metafunc.fixturenames:
        if marked[0] in metafunc.definition.own_markers:  # a class or a module may have tests of other kinds too
            _refuse(UsageError(NOTHING_MEASURED.format(name=metafunc.function.__name__)), metafunc, config)
        return
    fixed = tuple(name for fixture, name in COMPILER_FIXTURES.items() if fixture in metafunc.fixturenames)
    options = config.stash[SESSION].options
    cases: list[Case] = []
    try:
        given = marks.arguments(marked)
        cases = marks.cases(given, options, fixed[:1], config.stash[SESSION].site.host)
        reason = "" if cases else marks.nothing_left({**given, "compiler": fixed} if fixed else given, options)
    except NgraphError as error:
        reason = str(error)
        _refuse(error, metafunc, config)
    if config.stash[SESSION].baselines:
        _collected(config).add(metafunc.definition.nodeid, cases)
    if cases:
        metafunc.parametrize("ngraph_case", cases, ids=[case.id for case in cases])
    else:
        metafunc.parametrize("ngraph_case", [pytest.param(None, marks=pytest.mark.skip(reason), id="nothing")])


def _refuse(error: NgraphError, metafunc: pytest.Metafunc, config: pytest.Config) -> None:
    """Keep a mistake in a mark to be told with all others."""
    if is_xdist_worker(config):  # where an error of the whole session would be an internal one
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    mistakes = config.stash.setdefault(MISTAKES, [])
    if not isinstance(error, Unreachable):
        mistakes.append(f"{metafunc.definition.nodeid}: {error}")
    elif str(error) not in mistakes:
        mistakes.append(str(error))


def announce(tests: Sequence[pytest.Item], config: pytest.Config) -> None:
    """Tell the session which cases the selected tests will ask for, and find out early what cannot be stored."""
    if is_xdist_worker(config):  # each of them is refused when it is set up
        return
    mistakes = config.stash.get(MISTAKES, [])
    if mistakes:
        raise UsageError("\n".join(mistakes))
    session = config.stash[SESSION]
    cases = [(item, case) for item in tests if (case := case_of(item)) is not None]
    for item, case in cases:
        own = _own_thresholds(item)
        _requirements(item)
        if own and not _is_skipped(item):
            session.judging.hold(case, item.nodeid, own)
    if not cases or config.option.collectonly:
        return
    session.judging.hold_to_bases([case for _, case in cases])
    if session.options.measures:
        session.check_store()
    session.site.check()
    end_on_sigterm(config)
    for judge in session.judging.judges:
        judge.expect({case for _, case in cases})
    for item, case in cases:
        if _measures(item) and not _is_skipped(item) and not _obstacle(item, case):
            session.expect(case, item.nodeid)


def set_up(item: pytest.Item) -> None:
    """Skip what cannot run here, refuse to measure several at once, and prepare pytest-benchmark's fixture."""
    case = case_of(item)
    if case is None:
        return
    if is_xdist_worker(item.config):
        pytest.fail(
            "measurements on one machine disturb each other, so they cannot run under pytest-xdist. "
            "Run them in a session of their own without -n, or with -n 0.",
            pytrace=False,
        )
    obstacle = _obstacle(item, case)
    if obstacle:
        pytest.skip(obstacle)
    if _measures(item):
        mark_for_replay(item, case)
    else:
        mark_group(item, case)


def require_measured(item: pytest.Item) -> None:
    """Skip or fail the test, before its body runs, when its case could not be measured or stored."""
    case = case_of(item)
    if case is None or not _measures(item):
        return
    session = item.config.stash[SESSION]
    require(session.record_of(case), session, item)


def judge(item: pytest.Item) -> None:
    """After the test's body: take the record of what it measured itself, and hold the case to the thresholds."""
    case = case_of(item)
    if case is None:
        return
    session = item.config.stash[SESSION]
    record = observed(item)
    if record is not None:
        case = record.case
        _keep(record, session)
    verdicts: list[tuple[str, Verdict | MetricVerdict]] = []
    verdicts += [("ngraph_verdict", each) for each in session.judging.verdicts_of(case)]
    verdicts += [(f"ngraph_verdict[{each.threshold}]", each) for each in session.judging.metric_verdicts_of(case)]
    problems = [*session.judging.breaches_of(case, item.nodeid), *_hold_to_bases(item, verdicts)]
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def _keep(record: Record, session: Session) -> None:
    """Store what a test has measured itself, unless the bench measures that case: among the others of its group, in a
    process of its own."""
    if session.expects(record.case):
        return
    session.add(record)
    if record.case in session.unsaved:
        pytest.fail(session.unsaved[record.case], pytrace=False)


def _hold_to_bases(item: pytest.Item, verdicts: Iterable[tuple[str, Verdict | MetricVerdict]]) -> Iterator[str]:
    """What the verdicts, each under the name that its property has in JUnit, fail the test for."""
    session = item.config.stash[SESSION]
    for name, verdict in verdicts:
        item.user_properties[:] = [each for each in item.user_properties if each[0] != name]  # of an earlier try
        item.user_properties.append((name, verdict.name))
        if session.judging.fails(verdict):
            yield verdict.text
        elif verdict.name == "inconclusive" and session.options.gate.inconclusive == "warn":
            item.warn(pytest.PytestWarning(verdict.text))


def finish(session: pytest.Session, exitstatus: int) -> None:
    """At the end, what no single test could answer for fails the session. Only a run that was not cut short misses
    cases, or is kept as a baseline."""
    ours = session.config.stash[SESSION]
    is_whole = exitstatus in WHOLE and not (session.shouldstop or session.shouldfail or ours.is_cut_short)
    if is_whole:
        _require_baselines(session)
    problems = ours.conclude(whole=is_whole)
    try:
        ours.save()
    except NgraphError as error:
        ours.saved = str(error)
        ours.problems.append(ours.saved)
        problems.append(ours.saved)
    if problems and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _require_baselines(session: pytest.Session) -> None:
    """Find out what the stored baselines have and this run should have measured."""
    config = session.config
    ours = config.stash[SESSION]
    selected = {case for item in session.items if (case := case_of(item)) is not None}
    for baseline in ours.baselines:
        baseline.require(selected, lambda case, nodeid: _collected(config).lacks(case, nodeid, config, ours.options))


def _collected(config: pytest.Config) -> CollectedCases:
    """What collection generated, for stored baselines to be held against."""
    from pytest_ngraph.plugin.collected import CollectedCases

    return config.stash.setdefault(COLLECTED, CollectedCases())


def case_of(item: pytest.Item) -> Case | None:
    """The case of a generated test; None for every other test."""
    callspec = getattr(item, "callspec", None)
    case = callspec.params.get("ngraph_case") if callspec is not None else None
    return case if isinstance(case, Case) else None


def _measures(item: pytest.Item) -> bool:
    """Whether the bench measures for this test, rather than the test itself."""
    return "measurement" in getattr(item, "fixturenames", ())


def _is_skipped(item: pytest.Item) -> bool:
    """Whether its marks keep the test from running. pytest finds out when it sets the test up; what is measured
    together, or sent to a cluster, is planned before."""
    try:
        expected = None if item.config.option.runxfail else evaluate_xfail_marks(item)
        return evaluate_skip_marks(item) is not None or (expected is not None and not expected.run)
    except pytest.fail.Exception:  # a condition that cannot be read: the test's own error tells of it
        return True


def _own_thresholds(item: pytest.Item) -> tuple[Threshold, ...]:
    """Those of its marks. Raises `UsageError` for what is none, and for metrics that are no case's own."""
    given = list(item.iter_markers("ngraph_gate"))
    if keywords := [name for mark in given for name in mark.kwargs]:
        raise UsageError(
            f"{item.nodeid}: ngraph_gate({keywords[0]}=...): thresholds are given without a name: "
            "@pytest.mark.ngraph_gate('speedup<1.2')."
        )
    try:
        thresholds = parse_thresholds([str(text) for mark in given for text in mark.args])
    except NgraphError as error:
        raise type(error)(f"{item.nodeid}: {error}") from None
    for threshold in thresholds:
        if not threshold.is_of_cases:
            raise UsageError(
                f"{item.nodeid}: ngraph_gate('{threshold}'): {threshold.metric} spans several cases, and no single "
                f"test can answer for it. Give it to the run: --ngraph-fail-on '{threshold}'."
            )
    return thresholds


def _obstacle(item: pytest.Item, case: Case) -> str:
    """Why the test is to be skipped; empty when it can run."""
    if OBSTACLE not in item.stash:
        item.stash[OBSTACLE] = _find_obstacle(item, case)
    return item.stash[OBSTACLE]


def _find_obstacle(item: pytest.Item, case: Case) -> str:
    session = item.config.stash[SESSION]
    device, host = session.options.inventory[case.device], session.site.host(case.device)
    if not (session.site.is_here or _measures(item)):
        return (
            f"{device.name} is another machine, and this test compiles in its own process: use the fixture measurement"
        )
    obstacle = marks.obstacle(case, device, host)
    for requirement in _requirements(item):
        obstacle = obstacle or requirement.unmet(device, host.machine, host.is_importable)
    return obstacle


def _requirements(item: pytest.Item) -> list[Requirement]:
    """What its marks require of the device."""
    return [_required(mark, item) for mark in item.iter_markers("requires_device")]


def _required(mark: pytest.Mark, item: pytest.Item) -> Requirement:
    """What a mark requires of a device. Raises `UsageError` for one that cannot be read."""
    if mark.args:
        raise UsageError(
            f"{item.nodeid}: requires_device({mark.args[0]!r}): say what of: @pytest.mark.requires_device(kind='cuda')."
        )
    try:
        return Requirement.parse(mark.kwargs)
    except NgraphError as error:
        raise type(error)(f"{item.nodeid}: {error}") from None
