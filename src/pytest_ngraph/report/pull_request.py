"""The summary for a pull request, in GitHub's Markdown: the verdict first; what needs no action is folded."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from pytest_ngraph.case import Case
from pytest_ngraph.gate import Verdict, VerdictName
from pytest_ngraph.metrics import Metric
from pytest_ngraph.metrics.cells import why_not_measured
from pytest_ngraph.record import Record
from pytest_ngraph.report.columns import FIGURES
from pytest_ngraph.report.comparison import (
    about,
    basis,
    bound,
    by_severity,
    change,
    margin,
    metrics_by_severity,
    percent,
)
from pytest_ngraph.report.lines import shortened
from pytest_ngraph.report.markdown import LEFT, RIGHT, code, escaped, fenced, folded, table
from pytest_ngraph.report.result import NOT_ASKED_FOR, RunResult
from pytest_ngraph.report.since import since
from pytest_ngraph.wording import counted

MEASURED = {
    "case": LEFT, "change": RIGHT, "interval": RIGHT, "margin": RIGHT, "by": LEFT, "launches": RIGHT,
    "detectable": RIGHT,
}  # fmt: skip
EXPLAINED = {"case": LEFT, "interval": RIGHT, "margin": RIGHT, "reason": LEFT}
SHOWN = ("samples/s", "±%", "max rate", "latency", "speedup", "compile")
"""Figures in the table of results."""
HELD = {"metric": LEFT, "of": LEFT, "head": RIGHT, "base": RIGHT, "change": RIGHT, "": LEFT}
COUNTED_METRICS: tuple[VerdictName, ...] = ("regressed", "inconclusive")
LONGEST_REASON = 400


def page(result: RunResult) -> str:
    """Return the whole summary. It can be appended to what other commands wrote."""
    lines = [f"**{escaped(headline(result))}**", ""]
    lines += _explained("Lost", result, "lost")
    lines += _compared("Regressed", result, "regressed")
    lines += since(result, list(dict.fromkeys(verdict.case.id for verdict in _named(result, "regressed"))))
    lines += _metrics("Metrics regressed", result, "regressed")
    lines += _explained("Inconclusive", result, "inconclusive")
    lines += _metrics("Metrics inconclusive", result, "inconclusive")
    lines += _compared("Improved", result, "improved")
    lines += _metrics("Metrics improved", result, "improved")
    lines += _explained("New", result, "new")
    lines += _explained("Missing", result, "missing")
    lines += _not_measured(result)
    lines += _listed("Thresholds breached", result.breaches)
    lines += _listed("What also fails the run", result.problems)
    lines += _unchanged(result)
    lines += _results(result)
    lines += _circumstances(result)
    return "\n".join(lines)


def headline(result: RunResult) -> str:
    """Return the verdict on the whole run: `1 of 24 cases regressed against main at 1a2b3c4; 2 inconclusive`."""
    cases: dict[VerdictName, set[Case]] = defaultdict(set)
    for verdict in result.verdicts:
        cases[verdict.name].add(verdict.case)
    broken = {verdict.case for verdict in result.verdicts if verdict.broken}
    cases["inconclusive"] -= broken
    here = set().union(*(named for name, named in cases.items() if name not in ("new", "missing")))
    failed, unmeasured = len(result.failed), len(result.unmeasured)
    bases = " and ".join(result.bases)
    if here:
        count = counted(len(here | broken) + failed + unmeasured, "case")
        slower = len(cases["regressed"])
        if cases["lost"]:
            first = f"{len(cases['lost'])} of {count} lost, {slower or 'none'} regressed against {bases}"
        else:
            first = f"{slower or 'None'} of {count} regressed against {bases}"
    elif bases:
        first = f"Nothing was compared with {bases}"
    else:
        measured = sum(not why_not_measured(record) for record in result.run.records)
        first = f"{counted(measured, 'case')} measured" if measured else "Nothing was measured"
    further = {
        "not compared, because the base is broken": len(broken),
        "inconclusive": len(cases["inconclusive"]),
        "new": len(cases["new"]),
        "missing": len(cases["missing"]),
        "failed": failed,
        f"not measured, because {'no test asked' if result.whole else 'the run ended early'}": unmeasured,
    }
    metrics = Counter(verdict.name for verdict in result.metric_verdicts)
    further_parts = [f"{counted(metrics[name], 'metric')} {name}" for name in COUNTED_METRICS if metrics[name]]
    further_parts += [f"{count} {what}" for what, count in further.items() if count]
    if result.breaches:
        further_parts.append(f"{counted(len(result.breaches), 'threshold')} breached")
    if result.problems:
        further_parts.append(counted(len(result.problems), "problem"))
    return "; ".join((first, *further_parts))


def _named(result: RunResult, name: VerdictName) -> list[Verdict]:
    return [verdict for verdict in by_severity(result.verdicts) if verdict.name == name]


def _compared(title: str, result: RunResult, name: VerdictName) -> list[str]:
    rows = _measured_table(result, name)
    whys = [f"- {_case(v, result)}: {_reason(v.why)}" for v in _named(result, name) if v.why]
    return [f"### {title}", "", *rows, *whys, *([""] if whys else [])] if rows else []


def _linked(case: str, result: RunResult) -> str:
    """Return a case's name, as a link to its history where there is one."""
    return f"[{code(case)}]({result.history}#{quote(case)})" if result.history else code(case)


def _measured_table(result: RunResult, name: VerdictName) -> list[str]:
    rows = [
        (_case(v, result), change(v), _interval(v), margin(v), basis(v), str(v.launches or ""), percent(v.detectable))
        for v in _named(result, name)
    ]
    return table(MEASURED, rows) if rows else []


def _unchanged(result: RunResult) -> list[str]:
    rows = _measured_table(result, "unchanged")
    return folded(f"Unchanged: {counted(len(_named(result, 'unchanged')), 'case')}", rows) if rows else []


def _metrics(title: str, result: RunResult, name: VerdictName) -> list[str]:
    """Return a table of metrics that are compared with a base's."""
    rows = [
        (
            code(str(v.threshold)),
            _named_against(v.scope.id, v.against, result),
            "" if v.head is None else escaped(v.shown(v.head)),
            "" if v.base is None else escaped(v.shown(v.base)),
            escaped(v.interval),
            _reason(v.reason),
        )
        for v in metrics_by_severity(result.metric_verdicts)
        if v.name == name
    ]
    return [f"### {title}", "", *table(HELD, rows)] if rows else []


def _case(verdict: Verdict, result: RunResult) -> str:
    return f"{_named_against(verdict.case.id, verdict.against, result)}{about(verdict)}"


def _named_against(name: str, against: str, result: RunResult) -> str:
    """Name a case or scope, and its base where there are several bases."""
    shown = _linked(name, result)
    return f"{shown} against {escaped(against)}" if len(result.bases) > 1 else shown


def _interval(verdict: Verdict) -> str:
    low, high = bound(verdict, "low"), bound(verdict, "high")
    return f"{low} to {high}" if low else ""


def _explained(title: str, result: RunResult, name: VerdictName) -> list[str]:
    """Return a table of cases whose reason says more than a figure."""
    rows = [(_case(v, result), _interval(v), margin(v), _reason(v.reason)) for v in _named(result, name)]
    return [f"### {title}", "", *table(EXPLAINED, rows)] if rows else []


def _not_measured(result: RunResult) -> list[str]:
    rows = [(code(record.case.id), _reason(why_not_measured(record))) for record in result.failed]
    why = NOT_ASKED_FOR if result.whole else "the run ended before its turn"
    rows += [(code(case.id), why) for case in result.unmeasured]
    return ["### Not measured", "", *table({"case": LEFT, "reason": LEFT}, rows)] if rows else []


def _reason(text: str) -> str:
    return escaped(shortened(text, LONGEST_REASON))


def _listed(title: str, texts: Sequence[str]) -> list[str]:
    return [f"### {title}", "", *(f"- {_reason(text)}" for text in texts), ""] if texts else []


def _results(result: RunResult) -> list[str]:
    """Return a row for each measured case, folded where verdicts come before it."""
    records = [record for record in result.run.records if not why_not_measured(record)]
    if not records:
        return []
    columns = {"case": LEFT} | dict.fromkeys(SHOWN, RIGHT)
    rows = table(columns, [tuple(_row(record, result)) for record in records])
    return folded(f"Results: {counted(len(records), 'case')}", rows) if result.verdicts else rows


def _row(record: Record, result: RunResult) -> Iterator[str]:
    yield code(record.case.id)
    figures = {figure.heading: figure for figure in FIGURES}
    for heading in SHOWN:
        metric: Metric = result.metrics[record.case][figures[heading].metric]
        is_shown = metric.estimate and (heading != "latency" or record.case.runs_single_calls)
        yield figures[heading].text(metric) if is_shown else ""


def _circumstances(result: RunResult) -> list[str]:
    """Return the machine, the versions, and how to repeat the run."""
    lines = [f"{escaped(remark)}\n" for remark in result.remarks]
    facts = {"head": result.head, "base": " and ".join(result.bases), "run": result.run.id, **result.run.environment}
    for device, environment in result.run.environments.items():
        facts |= {f"{device}: {name}": value for name, value in environment.items()}
    rows = [(escaped(name), escaped(value)) for name, value in facts.items() if value]
    lines += table({"": LEFT, " ": LEFT}, rows)
    if result.command:
        lines += ["To repeat it:", "", *fenced(result.command)]
    return folded("Machine, versions, and how to repeat it", lines)
