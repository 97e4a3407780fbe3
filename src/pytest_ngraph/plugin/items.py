"""What is known of one test: its case, its thresholds, its requirements, and what stands in its way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks
from _pytest.unittest import TestCaseFunction

from pytest_ngraph import compilers
from pytest_ngraph.case import LATENCY, Case
from pytest_ngraph.errors import NgraphError, UsageError
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.machine.host import THIS_MACHINE, Host
from pytest_ngraph.machine.requirement import Requirement
from pytest_ngraph.plugin.assembly import SESSION
from pytest_ngraph.plugin.options import parse_thresholds
from pytest_ngraph.system.support import cannot_measure

if TYPE_CHECKING:
    from pytest_ngraph.gate import Threshold

OBSTACLE = pytest.StashKey[str]()
NO_FIXTURES = (
    "it is marked {mark}, and a method of unittest.TestCase takes no fixtures, so that nothing would be measured. "
    "Write it as a function: def {name}(measurement)."
)
NO_CASE = (
    "it is marked {mark} and has no case, so that the mark would do nothing. Mark it ngraph as well, and have it take "
    "a fixture: def {name}(measurement)."
)


def case_of(item: pytest.Item) -> Case | None:
    """Return the case of a generated test; None for every other test."""
    callspec = getattr(item, "callspec", None)
    case = callspec.params.get("ngraph_case") if callspec is not None else None
    return case if isinstance(case, Case) else None


def useless_mark(item: pytest.Item) -> str:
    """Return what is wrong with a mark of a test that has no case and never will; empty if nothing is.

    A mark of a class or module may be for other tests, except that of a `unittest.TestCase`, none of which has a case.
    What is marked `ngraph` itself is refused where tests are generated, which pytest does not do for such methods.
    """
    if "ngraph_case" in getattr(item, "fixturenames", ()):
        return ""
    is_method = isinstance(item, TestCaseFunction)
    own = [mark.name for mark in item.own_markers]
    if is_method and item.parent is not None:
        own += [mark.name for mark in item.parent.own_markers]
    found = next((name for name in ("ngraph", "ngraph_gate", "requires_device") if name in own), "")
    if not found or (found == "ngraph" and not is_method):
        return ""
    return (NO_FIXTURES if is_method else NO_CASE).format(mark=found, name=getattr(item, "originalname", item.name))


def measures(item: pytest.Item) -> bool:
    """Whether the bench measures for this test, rather than the test itself."""
    return "measurement" in getattr(item, "fixturenames", ())


def is_skipped(item: pytest.Item) -> bool:
    """Whether its marks keep the test from running.

    pytest finds out when it sets the test up; what is measured together, or sent to a cluster, is planned before.
    With `-p no:skipping`, no mark does.
    """
    if not item.config.pluginmanager.has_plugin("skipping"):
        return False
    try:
        expected = None if item.config.option.runxfail else evaluate_xfail_marks(item)
        return evaluate_skip_marks(item) is not None or (expected is not None and not expected.run)
    except pytest.fail.Exception:  # a condition that cannot be read: the test itself will report it
        return True


def thresholds(item: pytest.Item) -> tuple[Threshold, ...]:
    """Return the thresholds of its marks. Raises `UsageError` for other text, and for metrics that span cases."""
    given = list(item.iter_markers("ngraph_gate"))
    if not given:
        return ()
    if keywords := [name for mark in given for name in mark.kwargs]:
        raise UsageError(
            f"{item.nodeid}: ngraph_gate({keywords[0]}=...): thresholds are given without a name: "
            "@pytest.mark.ngraph_gate('speedup<1.2')."
        )
    try:
        parsed = parse_thresholds([str(text) for mark in given for text in mark.args])
    except NgraphError as error:
        raise type(error)(f"{item.nodeid}: {error}") from None
    for threshold in parsed:
        if not threshold.is_of_cases:
            raise UsageError(
                f"{item.nodeid}: ngraph_gate('{threshold}'): {threshold.metric} is computed from several cases, so "
                f"that no single test can fail for it. Give it to the run: --ngraph-fail-on '{threshold}'."
            )
    return parsed


def obstacle(item: pytest.Item, case: Case) -> str:
    """Return why the test is to be skipped; empty when it can run."""
    if OBSTACLE not in item.stash:
        item.stash[OBSTACLE] = _find_obstacle(item, case)
    return item.stash[OBSTACLE]


def _find_obstacle(item: pytest.Item, case: Case) -> str:
    if reason := cannot_measure():
        return reason
    session = item.config.stash[SESSION]
    device, host = session.options.inventory[case.device], session.site.host(case.device)
    if not (session.site.is_here or measures(item)):
        return (
            f"{device.name} is another machine, and this test compiles in its own process: use the fixture measurement"
        )
    # Where only the base has a library, the case is lost: the bench finds that out.
    needs_libraries = not (measures(item) and session.base_has_own_libraries)
    reason = why_not_on(case, device, host, needs_libraries=needs_libraries)
    for requirement in requirements(item):
        reason = reason or requirement.unmet(device, host.machine, host.is_importable)
    return reason


def why_not_on(case: Case, device: Device, host: Host = THIS_MACHINE, *, needs_libraries: bool = True) -> str:
    """Return what stands in the way of this case on the device as it is; empty when nothing does.

    Args:
        host: machine of the device.
        needs_libraries: whether a library that the compiler needs and the machine lacks is one.
    """
    missing = host.missing_library(case.compiler) if needs_libraries else ""
    return "; ".join(reason for reason in (*_reasons_against(case, device, host), missing) if reason)


def _reasons_against(case: Case, device: Device, host: Host) -> Iterator[str]:
    """Yield all obstacles at once, so that nobody finds the right device only to learn of a missing library."""
    compiler = compilers.resolve(case.compiler)
    name = case.compiler_name
    yield device.absent(host.machine, host.place, host.is_importable)
    if device.kind not in compiler.kinds:
        yield f"{name} does not compile for {device.kind}, only for {', '.join(compiler.kinds)}"
    if case.compiled_for not in getattr(compiler, "objectives", (LATENCY,)):
        yield f"{name} is measured for {LATENCY} only: it has no way of running several requests at a time here"


def requirements(item: pytest.Item) -> list[Requirement]:
    """Return what its marks require of the device. Raises `UsageError` for a mark that cannot be read."""
    return [_required(mark, item) for mark in item.iter_markers("requires_device")]


def _required(mark: pytest.Mark, item: pytest.Item) -> Requirement:
    """Return what one mark requires of a device. Raises `UsageError` for a mark that cannot be read."""
    if mark.args:
        raise UsageError(
            f"{item.nodeid}: requires_device({mark.args[0]!r}): give arguments by name: "
            "@pytest.mark.requires_device(kind='cuda')."
        )
    try:
        return Requirement.parse(mark.kwargs)
    except NgraphError as error:
        raise type(error)(f"{item.nodeid}: {error}") from None
