"""The verdicts of a run and of its metrics against a base, for the terminal: the worst first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from pytest_ngraph.gate import MetricVerdict, Verdict, VerdictName
from pytest_ngraph.report.lines import INDENT, Line, Style, wrapped
from pytest_ngraph.report.table import Column, fitting, row
from pytest_ngraph.wording import listed

ORDER: tuple[VerdictName, ...] = ("lost", "regressed", "inconclusive", "missing", "new", "improved", "unchanged")
DETECTABLE = "detectable"
MOST_NAMED = 3
"""Maximum number of cases that a reason names."""
STYLES: dict[VerdictName, Style] = {
    "lost": "bad",
    "regressed": "bad",
    "inconclusive": "doubt",
    "missing": "doubt",
    "improved": "best",
}


def comparison(verdicts: Sequence[Verdict], problem: str, width: int) -> list[Line]:
    """Return one row for each case, and a sentence on each case that could not be decided.

    Args:
        problem: why the base's cases were not found, or what differs from a stored baseline besides the code; else
            empty.
    """
    if not verdicts:
        return []
    rows = by_severity(verdicts)
    columns = _columns(rows, width - len(INDENT))
    lines = [
        Line(f"Against {rows[0].against}: {numbers_of(rows)}", "heading"),
        Line(INDENT + row(columns, None).rstrip(), "note"),
        *(Line(INDENT + row(columns, i).rstrip(), STYLES.get(v.name, "plain")) for i, v in enumerate(rows)),
    ]
    if any(column.heading == DETECTABLE for column in columns):
        explained = f"{DETECTABLE}: smallest slowdown that this run would have found in 95 of 100 such cases"
        lines.append(Line(INDENT + explained, "note"))
    if any(verdict.relative_to for verdict in rows):
        explained = "by ratio: times are divided by identity's in the same run, because identity ran the same code"
        lines += wrapped(explained, width, "note")
    reasons = [f"{verdict.case.id}{about(verdict)}: {verdict.why}" for verdict in rows if verdict.why]
    for text in filter(None, [problem, *_explanations(rows), *reasons]):
        lines += wrapped(text, width, "note")
    return [Line(""), *lines]


def metric_comparison(verdicts: Sequence[MetricVerdict], width: int) -> list[Line]:
    """Return a count for each base, and a sentence on each metric that is not unchanged, the worst first."""
    lines: list[Line] = []
    for against in dict.fromkeys(verdict.against for verdict in verdicts):
        own = metrics_by_severity([verdict for verdict in verdicts if verdict.against == against])
        lines += [Line(""), Line(f"Metrics against {against}: {numbers_of(own)}", "heading")]
        for verdict in own:
            if verdict.name != "unchanged":
                lines += wrapped(verdict.text, width, STYLES.get(verdict.name, "plain"))
        kept = Counter(str(verdict.threshold) for verdict in own if verdict.name == "unchanged")
        if kept:
            counts = ", ".join(f"{count} by {threshold}" for threshold, count in kept.items())
            lines += wrapped(f"unchanged: {counts}", width, "note")
    return lines


def by_severity(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts, the worst first, and those with the same name from slowest to fastest."""
    return sorted(verdicts, key=lambda v: (ORDER.index(v.name), -v.ratio.value if v.ratio else 0.0))


def metrics_by_severity(verdicts: Sequence[MetricVerdict]) -> list[MetricVerdict]:
    """Return the verdicts, the worst first, and those with the same name by p-value."""
    return sorted(verdicts, key=lambda verdict: (ORDER.index(verdict.name), verdict.p))


def numbers_of(verdicts: Iterable[Verdict | MetricVerdict]) -> str:
    """Return how many verdicts have each name, the worst first: `1 regressed, 3 unchanged`."""
    numbers = Counter(verdict.name for verdict in verdicts)
    return ", ".join(f"{numbers[name]} {name}" for name in ORDER if numbers[name])


def _columns(verdicts: Sequence[Verdict], width: int) -> list[Column]:
    columns = [
        Column(heading="verdict", cells=[v.name for v in verdicts], left=True),
        Column(heading="case", cells=[f"{v.case.id}{about(v)}" for v in verdicts], left=True),
        Column(heading="time", cells=[change(v) for v in verdicts]),
        Column(heading="from", cells=[bound(v, "low") for v in verdicts], rank=1),
        Column(heading="to", cells=[bound(v, "high") for v in verdicts], rank=1),
        Column(heading="margin", cells=[margin(v) for v in verdicts], rank=1),
        Column(heading="by", cells=[basis(v) for v in verdicts], left=True, rank=1),
        Column(heading="in time", cells=["" if v.time is None else _signed(v.time.value) for v in verdicts], rank=2),
        Column(heading=DETECTABLE, cells=[percent(v.detectable) for v in verdicts], rank=2),
        Column(heading="launches", cells=[str(v.launches or "") for v in verdicts], rank=3),
        Column(heading="disturbed", cells=[f"{v.disturbed}/{v.rounds}" if v.rounds else "" for v in verdicts], rank=4),
        Column(heading="measured", cells=[f"{v.measured_s:.1f} s" if v.rounds else "" for v in verdicts], rank=5),
    ]
    return fitting([column for column in columns if any(column.cells)], width)


def about(verdict: Verdict) -> str:
    """Return ` (module)` for a case that was compared as a module; empty where only its graph can have changed."""
    return f" ({verdict.compared})" if verdict.compared else ""


def change(verdict: Verdict) -> str:
    """Return how much more time head takes than base: `+2.3%`; empty where they were not measured."""
    return "" if verdict.ratio is None else _signed(verdict.ratio.value)


def bound(verdict: Verdict, end: Literal["low", "high"]) -> str:
    """Return an end of the interval; empty for a case that was not measured."""
    return "" if verdict.ratio is None or verdict.confidence is None else _signed(getattr(verdict.ratio, end))


def margin(verdict: Verdict) -> str:
    """Return the margin that the verdict is about: `1.0%` for slowdowns, `±6.1%` if it holds on both sides."""
    return verdict.shown_margin.replace(" ", "")


def basis(verdict: Verdict) -> str:
    """Return what decided against a stored baseline: `ratio` to identity or `time`; empty where it was measured."""
    return "" if not verdict.basis else "ratio" if verdict.relative_to else "time"


def _signed(ratio: float) -> str:
    """Return `+2.3%` for 1.023, and `17x` for large changes."""
    # Rounding may leave a negative zero; adding zero makes it a plain one.
    return f"{round(100 * (ratio - 1), 1) + 0.0:+.1f}%" if ratio < 2 else f"{ratio:.3g}x"


def percent(share: float | None) -> str:
    """Return a share as `2.3%`; empty for None."""
    return "" if share is None else f"{100 * share:.1f}%"


def _explanations(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield why a case has no decision, or needed no measurement.

    Where a verdict has several reasons, each names its cases.
    """
    cases: dict[tuple[VerdictName, str], list[str]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.reason and verdict.name != "missing":
            cases[verdict.name, verdict.reason].append(verdict.case.id)
    reasons = Counter(name for name, _ in cases)
    for (name, reason), ids in cases.items():
        which = f" ({listed(ids, MOST_NAMED)})" if reasons[name] > 1 else ""
        yield f"{name}{which}: {reason}"
