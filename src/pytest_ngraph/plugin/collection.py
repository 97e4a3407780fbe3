"""Collection: marks become tests, and the session is given the cases that the selected tests will ask for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.errors import NgraphError, Unreachable, UsageError
from pytest_ngraph.plugin import items, marks
from pytest_ngraph.plugin.assembly import SESSION, link
from pytest_ngraph.plugin.collected import collected
from pytest_ngraph.plugin.fixtures import COMPILER_FIXTURES
from pytest_ngraph.plugin.options import is_xdist_worker
from pytest_ngraph.plugin.sigterm import end_on_sigterm
from pytest_ngraph.session.options import Options
from pytest_ngraph.sizes import TAKE_SIZES
from pytest_ngraph.system.garbage import without_garbage_collection
from pytest_ngraph.system.support import cannot_measure
from pytest_ngraph.wording import counted, listed

MOST_SIZES = 6
"""Sizes of one axis that a message lists."""

NOTHING_MEASURED = (
    "it is marked ngraph and takes none of the fixtures that a case has, so that nothing would be measured. Have it "
    "take one: def {name}(measurement)."
)
MISTAKES = pytest.StashKey[list[str]]()
AT_BASE = pytest.StashKey[bool]()
"""Set where tests are only collected for a base: it may lack an axis that the head has."""
UNDER_THE_CASES_COMPILER = frozenset(("measurement", "compiled_model"))
"""Fixtures that measure or compile a test's case under the case's own compiler."""


@without_garbage_collection()
def parametrize(metafunc: pytest.Metafunc, config: pytest.Config) -> None:
    """Generate one test per case of a function that is marked `ngraph`.

    A mark that cannot be read is a mistake. All mistakes are reported together when collection is over.
    """
    test = metafunc.definition
    if test.get_closest_marker("ngraph") is None:
        return
    if "ngraph_case" not in metafunc.fixturenames:
        if any(mark.name == "ngraph" for mark in test.own_markers):  # a class or module may have other tests, too
            _refuse(UsageError(NOTHING_MEASURED.format(name=metafunc.function.__name__)), metafunc, config)
        return
    session = config.stash[SESSION]
    try:
        generated = marks.generate(
            marks.nearest_first(test), session.options, _fixed_compilers(metafunc), session.site.host
        )
    except NgraphError as error:
        _refuse(error, metafunc, config)
        generated = marks.Generated([], str(error))
    if session.judgement.judges or config.option.keyword:
        collected(config).add(test.nodeid, generated.cases)
    if generated.cases:
        metafunc.parametrize("ngraph_case", generated.cases, ids=[case.id for case in generated.cases])
    else:
        skipped = pytest.mark.skip(generated.reason)
        metafunc.parametrize("ngraph_case", [pytest.param(None, marks=skipped, id="nothing")])


def _fixed_compilers(metafunc: pytest.Metafunc) -> tuple[str, ...]:
    """Return the compilers that fixtures name, such as `identity_model`, of a test that takes no other model."""
    compiles_others = "compile_case" in metafunc.definition._fixtureinfo.argnames
    if compiles_others or not UNDER_THE_CASES_COMPILER.isdisjoint(metafunc.fixturenames):
        return ()
    return tuple(name for fixture, name in COMPILER_FIXTURES.items() if fixture in metafunc.fixturenames)


def nothing_selected(tests: Sequence[pytest.Item], config: pytest.Config) -> list[str]:
    """Return a line that says what `-k` could select, if it selects no test and cases were generated."""
    generated = collected(config).cases
    if not config.option.keyword or not generated or tests:
        return []
    sizes: dict[str, set[int]] = {}
    for case in generated:
        for name, size in (("batch_size", case.batch_size), *sorted(case.named_sizes.items())):
            sizes.setdefault(name, set()).add(size)
    parts = [f"{name} {listed([str(size) for size in sorted(own)], MOST_SIZES)}" for name, own in sizes.items()]
    return [
        f"ngraph: -k selects none of {counted(len(generated), 'case')}. Their sizes: "
        f"{'; '.join(parts)}. A size is written as in an id: seq_len=128, b8."
    ]


def _require_sizes(cases: Sequence[Case], options: Options) -> None:
    """Raise `UsageError` for a size of the command line that no case has."""
    for name, axis in options.sizes.items():
        if cases and axis.command_line and not any(name in dict(case.sizes) for case in cases):
            known = sorted({own for case in cases for own, _ in case.sizes})
            values = ",".join(map(str, axis.command_line))
            raise UsageError(
                f"--size {name}={values}: no selected test has this size. Sizes that they have: "
                f"{', '.join(known) or 'none'}. Only {TAKE_SIZES} take sizes."
            )


def _refuse(error: NgraphError, metafunc: pytest.Metafunc, config: pytest.Config) -> None:
    """Keep a mistake in a mark, to be reported with all others."""
    if is_xdist_worker(config):  # there, an error of the whole session would show as an internal one
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    mistakes = config.stash.setdefault(MISTAKES, [])
    if not isinstance(error, Unreachable):
        mistakes.append(f"{metafunc.definition.nodeid}: {error}")
    elif str(error) not in mistakes:
        mistakes.append(str(error))


@without_garbage_collection()
def announce(tests: Sequence[pytest.Item], config: pytest.Config) -> None:
    """Plan the cases of the selected tests, and find out early what cannot be measured or stored.

    Raises `UsageError` for all mistakes in marks together, and `StoreError` for a store that cannot be written.
    """
    if is_xdist_worker(config):  # each test is refused when it is set up
        return
    useless = [f"{item.nodeid}: {problem}" for item in tests if (problem := items.useless_mark(item))]
    if mistakes := [*config.stash.get(MISTAKES, []), *useless]:
        raise UsageError("\n".join(mistakes))
    session = config.stash[SESSION]
    cases = [(item, case) for item in tests if (case := items.case_of(item)) is not None]
    limits = {item: items.thresholds(item) for item, _ in cases}
    for item, _ in cases:
        items.requirements(item)
    if not config.stash.get(AT_BASE, False):
        _require_sizes([case for _, case in cases], session.options)
    if not cases or config.option.collectonly or cannot_measure():
        return
    running = [(item, case) for item, case in cases if not (items.is_skipped(item) or items.obstacle(item, case))]
    for item, case in running:
        session.judgement.hold(case, item.nodeid, limits[item])
    session.judgement.hold_to_bases([case for _, case in running])
    if session.options.measures:
        session.check_store()
        link(config, {case for item, case in running if items.measures(item)})
    session.site.check()
    end_on_sigterm(config)
    for judge in session.judgement.judges:
        judge.expect({case for _, case in cases})
    own = [item for item, _ in cases if not items.measures(item)]
    if own and session.options.gate.compares_with_other_code:
        session.notes.append(
            f"Not compared: {counted(len(own), 'test')} without the fixture measurement, such as {own[0].nodeid}."
        )
    if left_out := session.options.without_base:
        session.notes.append(
            f"Left out: {', '.join(map(str, left_out))} (ngraph_fail_on in the ini file). This run has no base."
        )
    for item, case in running:
        if items.measures(item):
            session.expect(case, item.nodeid)
