"""What the terminal shows: a header, where the run is, and the summary at its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from pytest_ngraph.errors import StoreError
from pytest_ngraph.session.session import Session
from pytest_ngraph.wording import seen_from

if TYPE_CHECKING:
    pass


def header(session: Session) -> list[str]:
    """What is measured as what, and what it is compared with."""
    lines = [f"ngraph: {_site(session)}; store {session.options.store}"]
    lines += [f"ngraph: {judge.description}" for judge in session.judging.judges]
    return lines + [f"ngraph: {text}" for text in _unfinished(session)]


def reached(session: Session) -> list[str]:
    """The devices of a cluster, where tests ask for them: only then it is reached."""
    if session.site.is_here or not session.unmeasured:
        return []
    return [f"ngraph: {_site(session)}"]


def _site(session: Session) -> str:
    """What is measured on, as far as that is known by now."""
    return session.site.describe(session.options.devices.values(None, ("cpu",)))


def _unfinished(session: Session) -> Iterator[str]:
    """What this session goes on with, or could go on with."""
    options = session.options
    if session.resumed is not None:
        yield session.resumed.description
    elif options.resume.run and options.measures:
        yield f"nothing to go on with: every run in {options.store} is finished, or is being measured"
    elif not options.settings.smoke:
        from pytest_ngraph.store import last_unfinished

        with suppress(StoreError):  # a store that cannot be read is told of when it is needed
            if run := last_unfinished(options.store):
                yield f"run {run} was not finished: --ngraph-resume goes on with it"


def summarise(reporter: pytest.TerminalReporter, session: Session) -> None:
    """Print the blocks of the summary, and the thresholds that failed the session."""
    conclusion = session.judging.conclusion
    if conclusion is None:
        return
    from pytest_ngraph.report.comparison import comparison
    from pytest_ngraph.report.metric_comparison import metric_comparison
    from pytest_ngraph.report.summary import summary

    metrics, checks, _, metric_verdicts, breaches, _ = conclusion
    reporter.write_sep("=", "ngraph")
    # Room is left for nothing else on the line: the summary decides which columns fit.
    for line in summary(list(session.records.values()), metrics, checks, width=reporter._tw.fullwidth):
        reporter.write_line(line.text, **line.markup)
    for judge in session.judging.judges:
        for line in comparison(list(judge.verdicts.values()), judge.problem, reporter._tw.fullwidth):
            reporter.write_line(line.text, **line.markup)
    for line in metric_comparison(metric_verdicts, reporter._tw.fullwidth):
        reporter.write_line(line.text, **line.markup)
    if session.against is not None and session.against.note:
        reporter.write_line(session.against.note)
    for text in breaches:
        reporter.write_line(text, red=True, bold=True)
    for text in session.resumed.notes if session.resumed else ():
        reporter.write_line(text)
    if session.run_id:
        place = seen_from(reporter.config.invocation_params.dir, session.options.store)
        reporter.write_line(f"Stored as {session.run_id} in {place}; pytest-ngraph report shows it again.")
    if session.saved:
        reporter.write_line(session.saved)
