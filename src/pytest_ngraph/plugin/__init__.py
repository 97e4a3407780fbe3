"""pytest's side, and the only room that imports pytest: hooks, marks, fixtures, options, and what the terminal shows.

pytest calls the hooks below. Open `assembly` first. The files lie in this order on a case's road: `options/` and
`assembly` make the session, `marks` (with `mark_values`) and `collection` make cases into tests, `fixtures` give a test
its measurement, `replay` feeds it to pytest-benchmark, `outcomes` pass, fail or skip the test, and `terminal`,
`summary_file` and `report_folder` show the result of the run.

`items` answers questions about one test, `keywords` reads `-k`, `collected` keeps what `-k` left out, `dry_run` lists
what would be sent to devices, `status` is the live line, `unread` puts off measuring a case that equals its base's,
`sigterm` ends a run early, and `hookspecs` declares hooks for others. `case_writer`, `bisect_step` and `link_step` are
processes of their own: each runs a pytest.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest

from pytest_ngraph.errors import NgraphError
from pytest_ngraph.plugin import (
    assembly,
    collection,
    dry_run,
    fixtures,
    hookspecs,
    keywords,
    marks,
    options,
    outcomes,
    report_folder,
    sigterm,
    summary_file,
    terminal,
)
from pytest_ngraph.plugin.assembly import SESSION


def pytest_addoption(parser: pytest.Parser) -> None:
    options.declare(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)
    pluginmanager.register(fixtures, "ngraph_fixtures")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    for marker in marks.MARKERS:
        config.addinivalue_line("markers", marker)
    keywords.translate(config)
    try:
        config.stash[SESSION] = assembly.assemble(config)
    except NgraphError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    return dry_run.listing(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    collection.parametrize(metafunc, metafunc.config)


def pytest_collection_finish(session: pytest.Session) -> None:
    try:
        collection.announce(session.items, session.config)
        summary_file.prepare(session.config)
        report_folder.prepare(session.config)
    except NgraphError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    outcomes.set_up(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    outcomes.require_measured(pyfuncitem)
    result = yield
    outcomes.apply_verdicts(pyfuncitem)
    return result


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    sigterm.finish()
    outcomes.finish(session, exitstatus)
    summary_file.publish(session.config)
    report_folder.write(session.config)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminal.summarise(terminalreporter)
    summary_file.show_problems(terminalreporter)
    report_folder.show_place(terminalreporter)


def pytest_unconfigure(config: pytest.Config) -> None:
    if (session := config.stash.get(SESSION, None)) is not None:
        session.close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    return terminal.header(config.stash[SESSION])


def pytest_report_collectionfinish(config: pytest.Config, items: Sequence[pytest.Item]) -> list[str]:
    return [*terminal.reached(config.stash[SESSION]), *collection.nothing_selected(items, config)]
