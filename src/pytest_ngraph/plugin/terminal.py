"""The terminal: a header, the devices that were reached, and the result of the run at its end."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from pytest_ngraph.errors import StoreError
from pytest_ngraph.plugin.assembly import SESSION
from pytest_ngraph.plugin.outcomes import RESULT
from pytest_ngraph.session.options import DEFAULT_DEVICES, DEFAULT_STORE
from pytest_ngraph.session.session import Session
from pytest_ngraph.system.support import cannot_measure
from pytest_ngraph.wording import counted, seen_from

if TYPE_CHECKING:
    from pytest_ngraph.report.result import RunResult

NOT_TIMED = (
    "Nothing was compared, because --benchmark-disable switches timing off. To time anyway, add --benchmark-enable."
)


def header(session: Session) -> list[str]:
    """Return what is measured as what, and what it is compared with; or why nothing can be measured here."""
    if reason := cannot_measure():
        return [f"ngraph: {reason}"]
    lines = [f"ngraph: {_site(session)}; store {session.options.store}"]
    lines += [f"ngraph: {judge.description}" for judge in session.judgement.judges]
    return lines + [f"ngraph: {text}" for text in _unfinished(session)]


def reached(session: Session) -> list[str]:
    """Return the devices of a cluster. It is reached only when tests ask for them."""
    if session.site.is_here or not session.unmeasured:
        return []
    return [f"ngraph: {_site(session)}"]


def _site(session: Session) -> str:
    """Return what is measured on, as far as it is known so far."""
    return session.site.describe(session.options.devices.values(None, DEFAULT_DEVICES))


def _unfinished(session: Session) -> Iterator[str]:
    """Yield which run this session resumes, or could resume."""
    options = session.options
    if session.resumed is not None:
        yield session.resumed.description
    elif options.resume.run and options.measures:
        yield f"nothing to resume: every run in {options.store} is finished or still being measured"
    elif not options.settings.smoke and options.store.is_dir():
        from pytest_ngraph.store import last_unfinished

        with suppress(StoreError):  # a store that cannot be read is reported when it is needed
            if run := last_unfinished(options.store):
                yield f"run {run} was not finished: --ngraph-resume continues it"


def summarise(reporter: pytest.TerminalReporter) -> None:
    """Print the result of the run: the verdicts, what fails the run, its workloads (more than a few with -v only), and
    the answer last."""
    result, options = reporter.config.stash.get(RESULT, None), reporter.config.stash[SESSION].options
    if options.settings.smoke and options.gate.compares_with_other_code:
        reporter.write_line(f"ngraph: {NOT_TIMED}", yellow=True)
    if result is None or (result.is_empty and not (result.bases or result.saved or _is_unasked(result))):
        return
    from pytest_ngraph.report.comparison import comparison, metric_comparison
    from pytest_ngraph.report.lines import Line
    from pytest_ngraph.report.result import NOT_ASKED_FOR
    from pytest_ngraph.report.summary import summary

    width = reporter._tw.fullwidth  # nothing else is on the line: the summary decides which columns fit
    lines: list[Line] = []
    for base in dict.fromkeys([*result.bases, *(verdict.against for verdict in result.verdicts)]):
        verdicts = [verdict for verdict in result.verdicts if verdict.against == base]
        lines += comparison(verdicts, result.bases.get(base, ""), width)
        if all(verdict.name in ("new", "missing") for verdict in verdicts):
            lines += [Line(""), Line(f"Nothing was compared with {base}.", "doubt")]
    lines += metric_comparison(result.metric_verdicts, width)
    lines += [Line(note) for note in result.notes]
    lines += [Line(text, "failing") for text in result.unanswered]
    verbose = reporter.config.get_verbosity() > 0
    shown = summary(result.run.records, result.metrics, result.checks, width, is_detailed=verbose)
    lines += [Line(""), *shown] if lines and shown else shown
    reporter.write_sep("=", "ngraph")
    for line in lines[1:] if lines and not lines[0].text else lines:
        reporter.write_line(line.text, **line.markup)
    place = seen_from(reporter.config.invocation_params.dir, options.store)
    is_found = place == DEFAULT_STORE and not reporter.config.getoption("ngraph_store")
    if result.run.id:
        command = shlex.join(["pytest-ngraph", "report", *([] if is_found else [place])])
        reporter.write_line(f"Stored as {result.run.id} in {place}; {command} shows its figures again.")
    if result.saved:
        reporter.write_line(result.saved)
    if _is_unasked(result) or (result.unmeasured and result.run.id):
        every = counted(len(result.run.planned), "case")
        why = NOT_ASKED_FOR if result.whole else "the run ended before: --ngraph-resume continues it"
        reporter.write_line(f"{len(result.unmeasured):,} of {every} not measured, because {why}.", yellow=True)
    if options.advise:
        for text in advice(result, "" if is_found else place, width):
            reporter.write_line(text)


def _is_unasked(result: RunResult) -> bool:
    """Return whether the run went to its end without that the tests asked for all of their cases."""
    return result.whole and bool(result.unmeasured)


def advice(result: RunResult, store: str, width: int) -> Iterator[str]:
    """Yield what to deploy of each workload of a run, line by line.

    Args:
        store: the run's, as the commands in the lines must name it; empty where they find it by themselves.
    """
    from pytest_ngraph.advise.lines import lines
    from pytest_ngraph.advise.of_run import answers

    options = f" {shlex.quote(f'--store={store}')}" if store else ""
    for found in answers(result.run.records, result.checks, result.metrics, result.run.id):
        yield ""
        yield from lines(found, width, options)
