"""The block of one workload on one device: a heading, a row for each batch size and compiler, and notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.metrics import Metric, Metrics
from pytest_ngraph.metrics.between import surely_above
from pytest_ngraph.metrics.cells import why_not_measured
from pytest_ngraph.metrics.text import number
from pytest_ngraph.record import NOT_FAILED, Record
from pytest_ngraph.report.answers import judged_by
from pytest_ngraph.report.columns import ABSENT, ERROR_RANK, FIGURES, INAPPLICABLE, FigureColumn
from pytest_ngraph.report.lines import INDENT, Line, Style, shortened, wrapped
from pytest_ngraph.report.notes import notes
from pytest_ngraph.report.table import GAP, Column, fitting, row
from pytest_ngraph.stats import Estimate

BEST, EQUAL, OTHER = "*", "=", " "
"""Marks of the highest throughput or rate, of those that other processes might show to be as high, and of others."""


def block(records: Sequence[Record], metrics: Metrics, width: int) -> list[Line]:
    """Return the lines of one workload on one device, from records that share precision and objective."""
    rows = sorted(records, key=lambda record: (record.case.batch_size, record.case.compiler != IDENTITY))
    measured = [record for record in rows if not why_not_measured(record)]
    columns = _columns(rows, metrics, width - len(INDENT) - 2)
    ranks = dict(_ranks(measured, metrics))
    lines = [*_heading(rows, width), Line(INDENT + "  " + row(columns, None).rstrip(), "note")]
    lines += [_row(record, index, columns, ranks.get(record.case, OTHER), width) for index, record in enumerate(rows)]
    for note in notes(measured, metrics, columns):
        lines += wrapped(note, width, "note")
    return lines


def title(case: Case) -> str:
    """Return the workload and its device as shown to users: `conv, depth 3, width 64 on xeon`."""
    sizes = [f"{name} {size}" for name, size in case.named_sizes.items()]
    return f"{', '.join((case.model_label, *sizes))} on {case.device}"


def _heading(rows: Sequence[Record], width: int) -> list[Line]:
    """Return the title and the facts about the model: on one line if they fit, else below each other."""
    case = rows[0].case
    models = [record.model for record in rows]
    parameters = next((model.parameters for model in models if model.parameters is not None), None)
    flops = next((model.flops for model in models if model.flops is not None), None)
    facts: list[str] = [_precision(rows), case.objective]
    if parameters is not None:
        facts.append(f"{_scaled(parameters, ' parameters', largest='M')}")
    if flops is not None:
        facts.append(f"{_scaled(flops, 'FLOP')} a sample")
    whole = f"{title(case)}{GAP}{', '.join(facts)}"
    if len(whole) <= width:
        return [Line(whole, "heading")]
    return [*wrapped(title(case), width, "heading", indent=""), *wrapped(", ".join(facts), width, "heading")]


def _precision(rows: Sequence[Record]) -> str:
    """Return what is computed in: the case's precision, or those of a workload that has its own, `bf16 and fp32`."""
    asked: str = rows[0].case.precision
    found = (record.facts.get("precision", asked) for record in rows)
    return next((own for own in found if own != asked), asked).replace(", ", " and ")


def _scaled(count: int, unit: str, largest: str = "G") -> str:
    """Return `3.63 GFLOP`, with SI prefixes up to `largest`."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= factor and (prefix != "G" or largest == "G"):
            return f"{number(count / factor)} {prefix}{unit}"
    return f"{count} {unit.lstrip()}"


def _columns(rows: Sequence[Record], metrics: Metrics, width: int) -> list[Column]:
    columns = [
        Column(heading="batch", cells=[str(record.case.batch_size) for record in rows]),
        Column(heading="compiler", cells=[record.case.compiler for record in rows], left=True),
    ]
    for figure in FIGURES:
        found = [metrics[record.case][figure.metric] for record in rows]
        if figure.optional and not any(metric.estimate for metric in found):
            continue
        cells = [_cell(record, metric, figure) for record, metric in zip(rows, found, strict=True)]
        columns.append(Column(heading=figure.heading_for(rows[0].case), cells=cells, rank=figure.rank))
    columns.append(Column(heading="error", cells=[_error(record) for record in rows], rank=ERROR_RANK))
    return fitting(columns, width)


def _cell(record: Record, metric: Metric, figure: FigureColumn) -> str:
    if why_not_measured(record):
        return ""
    if metric.estimate is None:
        return INAPPLICABLE if metric.by_definition else ABSENT
    return figure.text(metric)


def _error(record: Record) -> str:
    if why_not_measured(record):
        return ""
    return ABSENT if record.agreement is None else f"{record.agreement.error:.0e}"


def _row(record: Record, index: int, columns: Sequence[Column], rank: str, width: int) -> Line:
    problem = why_not_measured(record).removeprefix("was ")
    if problem:
        style: Style = "note" if record.outcome in NOT_FAILED else "bad"
        return Line(shortened(f"{INDENT}  {row(columns[:2], index)}{GAP}{problem}", width), style)
    marks = rank + (" " if record.stable else "~")
    style = "best" if rank == BEST else "plain" if record.stable else "doubt"
    return Line(INDENT + marks + row(columns, index).rstrip(), style)


def _ranks(measured: Sequence[Record], metrics: Metrics) -> Iterator[tuple[Case, str]]:
    """Yield the best case at each batch size that has several compilers, and its equals.

    That is the one with the highest throughput, or under load with the highest rate. What failed there is none.
    """
    by_batch_size: dict[int, list[tuple[Case, Estimate, float]]] = {}
    for record in measured:
        metric = metrics[record.case][judged_by(record.case)]
        estimate = metric.estimate
        if estimate is not None and estimate.value > 0 and not metric.failed:
            by_batch_size.setdefault(record.case.batch_size, []).append((record.case, estimate, metric.steepness))
    for found in by_batch_size.values():
        cases, (highest, *lower), steepness = zip(*sorted(found, key=lambda each: -each[1].value), strict=True)
        if lower:
            yield cases[0], BEST
            sure = surely_above(highest, lower, metrics.between, steepness, metrics.sessions_of(cases))
            yield from ((case, EQUAL) for case, is_lower in zip(cases[1:], sure, strict=True) if not is_lower)
