"""The block of one workload on one device: a heading, a row for each batch size and compiler, and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_ngraph.case import IDENTITY, Case, CompilerSpec
from pytest_ngraph.costs import COSTS
from pytest_ngraph.metrics import DEFINITIONS, Metric, Metrics
from pytest_ngraph.metrics.between import surely_above
from pytest_ngraph.metrics.cells import why_not_measured
from pytest_ngraph.metrics.percentiles import seconds_for
from pytest_ngraph.metrics.text import number, quantity
from pytest_ngraph.record import CAVEAT, HIDDEN, NOT_FAILED, RANDOM, Contention, Record
from pytest_ngraph.report.lines import INDENT, Line, Style, shortened, wrapped
from pytest_ngraph.report.table import GAP, Column, fitting, row
from pytest_ngraph.stats import Estimate, relative_half_width
from pytest_ngraph.wording import counted, listed

ABSENT = "-"
BEST, EQUAL, OTHER = "*", "=", " "
"""Marks of the highest throughput, of those that other processes might show to be as high, and of the others."""
INAPPLICABLE = "none"


@dataclass(frozen=True, slots=True)
class Figure:
    """A column that shows a metric.

    Attributes:
        rank: as in `Column`.
        side_by_side: the heading where several iterations run at a time; empty for the same heading.
        optional: whether the column is left out where no case has the metric.
    """

    heading: str
    metric: str
    rank: int
    show: Callable[[Metric], str]
    side_by_side: str = ""
    optional: bool = False

    def heading_for(self, case: Case) -> str:
        return self.heading if case.objective == "latency" else self.side_by_side or self.heading


def _value(metric: Metric) -> str:
    assert metric.estimate is not None
    return quantity(metric.estimate.value, DEFINITIONS[metric.name].unit)


def _bare(metric: Metric) -> str:
    assert metric.estimate is not None
    return number(metric.estimate.value)


def _ratio(metric: Metric) -> str:
    assert metric.estimate is not None
    return f"{metric.estimate.value:.2f}"


def _whole(metric: Metric) -> str:
    assert metric.estimate is not None
    return f"{metric.estimate.value:.0f}"


def _uncertainty(metric: Metric) -> str:
    assert metric.estimate is not None
    if not metric.estimate.is_bounded:
        return "?"
    percent = 100 * relative_half_width(metric.estimate)
    return f"{percent:.1f}" if percent < 9.95 else f"{percent:.0f}"


PERCENTILE_RANKS = {"p50_s": 13, "p90_s": 12, "p95_s": 11, "p99_s": 1}
"""In a narrow terminal, the highest percentile stays longest."""
FIGURES = (
    Figure("samples/s", "throughput", 0, _bare),
    Figure("±%", "throughput", 1, _uncertainty),
    Figure("tokens/s", "tokens_per_s", 2, _bare, optional=True),
    Figure("latency", "latency_s", 7, _value, side_by_side="iteration"),
    *(Figure(name.removesuffix("_s"), name, rank, _value, optional=True) for name, rank in PERCENTILE_RANKS.items()),
    Figure("speedup", "speedup", 2, _ratio),
    Figure("RTR", "rtr", 5, _ratio),
    Figure("ASE", "ase", 4, _ratio),
    Figure("BSR", "bsr", 3, _ratio),
    Figure("compile", "compile_s", 6, _value),
    Figure("CPU %", "cpu_percent", 9, _whole),
    Figure("memory", "worker_memory_bytes", 8, _value),
    Figure("cold start", "cold_start_s", 2, _value, optional=True),
    Figure("serving", "serving_memory_bytes", 2, _value, optional=True),
    Figure("files", "artifact_bytes", 4, _value, optional=True),
    Figure("install", "install_bytes", 9, _value, optional=True),
)
ERROR_RANK = 10
MOST_NAMED = 3
"""Maximum number of parameters that a note names."""


def block(records: Sequence[Record], metrics: Metrics, width: int) -> list[Line]:
    """Return the lines of one workload on one device, from records that share precision and objective."""
    rows = sorted(records, key=lambda record: (record.case.batch_size, record.case.compiler != IDENTITY))
    measured = [record for record in rows if not why_not_measured(record)]
    columns = _columns(rows, metrics, width - len(INDENT) - 2)
    ranks = dict(_ranks(measured, metrics))
    lines = [*_heading(rows, width), Line(INDENT + "  " + row(columns, None).rstrip(), "note")]
    lines += [_row(record, index, columns, ranks.get(record.case, OTHER), width) for index, record in enumerate(rows)]
    for note in _notes(measured, metrics, columns):
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
    facts: list[str] = [case.precision, case.objective]
    if parameters is not None:
        facts.append(f"{_scaled(parameters, ' parameters', largest='M')}")
    if flops is not None:
        facts.append(f"{_scaled(flops, 'FLOP')} a sample")
    whole = f"{title(case)}{GAP}{', '.join(facts)}"
    if len(whole) <= width:
        return [Line(whole, "heading")]
    return [Line(shortened(title(case), width), "heading"), *wrapped(", ".join(facts), width, "heading")]


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


def _cell(record: Record, metric: Metric, figure: Figure) -> str:
    if why_not_measured(record):
        return ""
    if metric.estimate is None:
        return INAPPLICABLE if metric.by_definition else ABSENT
    return figure.show(metric)


def _error(record: Record) -> str:
    if why_not_measured(record):
        return ""
    return ABSENT if record.agreement is None else f"{record.agreement.error:.0e}"


def _row(record: Record, index: int, columns: Sequence[Column], rank: str, width: int) -> Line:
    problem = why_not_measured(record).removeprefix("was ")
    if problem:
        style: Style = "note" if record.outcome in NOT_FAILED else "bad"
        return Line(shortened(f"{INDENT}  {row(columns[:2], index)}{GAP}{problem}", width), style)
    marks = rank + ("~" if record.is_unsettled else " ")
    style = "best" if rank == BEST else "doubt" if record.is_unsettled else "plain"
    return Line(INDENT + marks + row(columns, index).rstrip(), style)


def _ranks(measured: Sequence[Record], metrics: Metrics) -> Iterator[tuple[Case, str]]:
    """Yield the case with the highest throughput at each batch size that has several compilers, and its equals."""
    by_batch_size: dict[int, list[tuple[Case, Estimate]]] = {}
    for record in measured:
        estimate = metrics[record.case]["throughput"].estimate
        if estimate is not None:
            by_batch_size.setdefault(record.case.batch_size, []).append((record.case, estimate))
    for found in by_batch_size.values():
        (best, highest), *others = sorted(found, key=lambda each: -each[1].value)
        if others:
            yield best, BEST
            sure = surely_above(highest, [estimate for _, estimate in others], metrics.between)
            yield from ((case, EQUAL) for (case, _), lower in zip(others, sure, strict=True) if not lower)


def _notes(measured: Sequence[Record], metrics: Metrics, columns: Sequence[Column]) -> Iterator[str]:
    shown = {column.heading for column in columns}
    reasons: dict[str, dict[str, None]] = {}
    for record in measured:
        for figure in FIGURES:
            metric = metrics[record.case][figure.metric]
            heading = figure.heading_for(record.case)
            is_noted = (figure.metric in PERCENTILE_RANKS and record.calls) or (
                figure.metric in COSTS and record.serving
            )
            if metric.absent and not metric.by_definition and heading in shown and not is_noted:
                reasons.setdefault(metric.absent, {})[heading] = None
    for record in measured:  # the columns of costs are left out where no case has any
        if record.serving is not None and record.serving.problem:
            reasons.setdefault(record.serving.problem, {})[f"costs to serve under {record.case.compiler}"] = None
    if "error" in shown and any(record.agreement is None for record in measured):
        reasons.setdefault("outputs were not verified", {})["error"] = None
    for reason, headings in reasons.items():
        yield f"{ABSENT} {', '.join(headings)}: {reason}"
    yield from _too_few_calls(measured, metrics)
    yield from _doubts(measured)
    programs = dict.fromkeys(record.case.compiler for record in measured if _is_stand_in(record))
    if programs:
        yield (
            f"{', '.join(programs)}: its exported program was measured, since only that can be compared with a base; "
            "the module may differ"
        )
    caveats: dict[str, dict[str, None]] = {}
    for record in measured:
        if CAVEAT in record.facts:
            caveats.setdefault(record.facts[CAVEAT], {})[record.case.compiler] = None
    yield from (f"{', '.join(names)}: {caveat}" for caveat, names in caveats.items())
    hiding = dict.fromkeys(record.facts[HIDDEN] for record in measured if HIDDEN in record.facts)
    if hiding:
        names = [name for names in hiding for name in names.split(", ")]
        yield (
            f"error: {listed([*dict.fromkeys(names)], MOST_NAMED)} next to 0: what they scale may be wrong without "
            "showing in the outputs. Load trained weights, or call pytest_ngraph.draw_constants on the module"
        )
    for random in dict.fromkeys(record.facts[RANDOM] for record in measured if RANDOM in record.facts):
        yield f"error: without {random}, which eager PyTorch draws at random in each call"
    cached = dict.fromkeys(record.case.compiler for record in measured if record.cached_at is not None)
    if cached and "compile" in shown:
        yield f"compile: for {', '.join(cached)}, the seconds of the first compilation; this run used the cache"
    if any(not _is_bounded(metrics, record.case) for record in measured):
        yield "? too few rounds for an interval"


def _too_few_calls(measured: Sequence[Record], metrics: Metrics) -> Iterator[str]:
    """Yield a note on the percentiles that too few calls were timed for, and on what would be enough."""
    lacking = [
        (record, name)
        for record in measured
        for name in PERCENTILE_RANKS
        if record.calls and metrics[record.case][name].estimate is None
    ]
    if lacking:
        seconds = max(seconds_for(record.calls, name) for record, name in lacking)
        names = ", ".join(dict.fromkeys(name.removesuffix("_s") for _, name in lacking))
        compilers = ", ".join(dict.fromkeys(record.case.compiler for record, _ in lacking))
        yield f"{ABSENT} {names}: too few calls of {compilers} fit into the time; --ngraph-tails={seconds} has enough"


def _is_stand_in(record: Record) -> bool:
    """Return whether the exported program was run although the case names the module, as beside a base."""
    asked_for = dict(CompilerSpec.parse(record.case.compiler).options)
    return record.facts.get("graph") == "program" and asked_for.get("graph") != "program"


def _is_bounded(metrics: Metrics, case: Case) -> bool:
    """Return whether the throughput of a measured case has an interval."""
    estimate = metrics[case]["throughput"].estimate
    return estimate is not None and estimate.is_bounded


def _doubts(measured: Iterable[Record]) -> Iterator[str]:
    """Yield a note on unstable cases; cases with the same rounds and contention, measured in turn, share one."""
    unsettled: dict[str, list[str]] = {}
    for record in measured:
        if record.is_unsettled:
            rounds, seen = counted(len(record.rounds), "round"), _contention(record.contention)
            doubt = f"at batch size {record.case.batch_size} did not settle in {rounds}: {seen}"
            unsettled.setdefault(doubt, []).append(record.case.compiler)
    for doubt, names in unsettled.items():
        yield f"~ {', '.join(names)} {doubt}"
    stopped: dict[str, list[str]] = {}
    for record in measured:
        if record.stopped and not record.stable:
            reason = f"{record.stopped}, after {counted(len(record.rounds), 'round')}"
            stopped.setdefault(f"at batch size {record.case.batch_size}: {reason}", []).append(record.case.compiler)
    for reason, names in stopped.items():
        yield f"fewer rounds of {', '.join(names)} {reason}"


def _contention(contention: Contention) -> str:
    if contention == Contention():
        return "contention was not recorded"
    shares: Mapping[str, float | None] = {
        "CPU pressure": contention.pressure_percent,
        "steal": contention.steal_percent,
    }
    seen = [f"{name} {share:.0f} %" for name, share in shares.items() if share is not None and share >= 0.5]
    if contention.throttles:
        seen.append(f"throttled {counted(contention.throttles, 'time')}")
    if contention.throttled_rounds:
        seen.append(f"held down in {counted(contention.throttled_rounds, 'round')} by {contention.throttled_by}")
    if contention.others_on_gpu:
        seen.append(f"{counted(contention.others_on_gpu, 'other process', 'other processes')} on the GPU")
    if contention.asleep_s is not None and contention.asleep_s >= 0.5:
        seen.append(f"suspended for {contention.asleep_s:.0f} s")
    return ", ".join(seen) or "no contention seen"
