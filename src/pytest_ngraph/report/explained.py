"""An explanation as lines for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from pytest_ngraph.explain.counters import CLOCK, in_words
from pytest_ngraph.explain.explanation import SLOWED, Explanation
from pytest_ngraph.explain.fusions import CompiledDifference, Work
from pytest_ngraph.explain.rows import Kind, Row
from pytest_ngraph.metrics.text import quantity, signed, with_interval
from pytest_ngraph.report.lines import shortened
from pytest_ngraph.report.table import Column, fitting, row
from pytest_ngraph.stats import Estimate
from pytest_ngraph.wording import counted, listed

LONGEST_NAME = 40
MOST_FUSIONS = 6


def lines(workload: str, explained: Explanation, width: int) -> list[str]:
    """Return an explanation of one case or two, in lines of at most `width` characters where they can be shorter.

    Args:
        workload: what the cases are of: `resnet18-b1-cpu`.
    """
    found = [*_headline(workload, explained), ""]
    if explained.compiled is not None:
        for line in _compiled(explained.names, explained.compiled):
            found += textwrap.wrap(line, width, subsequent_indent="    ", break_long_words=False)
        found.append("")
    found += [*_table(explained, width), ""]
    for line in (*_coverage(explained), *_counters(explained)):
        found += textwrap.wrap(line, width, subsequent_indent="    ")
    return [shortened(line, width) for line in found]


def _headline(workload: str, explained: Explanation) -> Iterator[str]:
    timed = zip(explained.names, explained.latency_s, strict=True)
    times = [f"{name} {with_interval(each, 's')}" for name, each in timed]
    yield f"{workload}, a call: {', '.join(times)}"
    if explained.difference_s is not None:
        first, second = explained.names
        value, low, high = explained.difference_s
        more = explained.difference_s if value > 0 else Estimate(-value, -high, -low)
        taken = f"{second} takes {with_interval(more, 's')} {'more' if value > 0 else 'less'} than {first}"
        yield taken if is_sure(explained) else f"{taken}: no difference beyond chance"


def is_sure(explained: Explanation) -> bool:
    """Return whether there is a difference of two cases whose interval excludes zero."""
    difference = explained.difference_s
    return difference is not None and not difference.low <= 0 <= difference.high


def _compiled(names: Sequence[str], compiled: CompiledDifference) -> Iterator[str]:
    yield "What was compiled"
    for name, fusions in zip(names, (compiled.lost, compiled.gained), strict=True):
        shown = [f"{label} ({count})" for label, count in fusions.items()]
        yield f"  only {name} fuses {listed(shown, MOST_FUSIONS)}" if shown else f"  {name} fuses nothing else"
    if len({name.partition(":")[0] for name in names}) == 1:  # else all kinds differ: each library has its own
        for change in compiled.kinds[:MOST_FUSIONS]:
            yield f"  {change.module}: {change.label} by {change.base}, then by {change.head}"
    for name, (seconds, count) in zip(names, compiled.layout, strict=True):
        if count:
            yield f"  {name} changes layouts in {counted(count, 'kernel')}: {quantity(seconds, 's')}"
    for name, providers in zip(names, compiled.providers, strict=True):
        if len(providers) > 1:
            yield f"  {name} runs on {', '.join(f'{each} ({count})' for each, count in providers.items())}"


def _table(explained: Explanation, width: int) -> Iterator[str]:
    rows = explained.rows
    is_known = explained.difference_s is None or is_sure(explained)
    shares = [f"{round(100 * each.share, 1) + 0.0:.1f} %" if is_known else "" for each in rows]  # no -0.0
    names = [fitting_name(titled(each.kind, each.name)) for each in rows]
    columns = [Column(heading="module" if explained.names_modules else "operator", cells=names, left=True)]
    if explained.difference_s is None:
        times = [with_interval(each.seconds[0], "s") for each in rows]
        columns += [Column(heading="a call", cells=times), Column(heading="share", cells=shares)]
    else:
        for index, name in enumerate(explained.names):
            seconds = [_seconds(each.seconds[index].value) for each in rows]
            columns.append(Column(heading=name, cells=seconds, rank=1))
        differences = [signed(each.difference, "s") if each.difference else "" for each in rows]
        columns.append(Column(heading="difference", cells=differences))
        columns.append(Column(heading="share", cells=shares, rank=2))
    shown = fitting(columns, width)
    yield row(shown, None).rstrip()
    for index, each in enumerate(rows):
        yield row(shown, index).rstrip()
        yield from _kernels(explained.names, each, width)


def _seconds(value: float) -> str:
    return quantity(value, "s") if value else "-"


def titled(kind: Kind, name: str) -> str:
    """Return what a row is about, in words."""
    where = name or "the network"
    texts = {
        "between": f"{where}, between its parts",
        "others": f"{name} small parts",
        "layout": "layout changes",
        "unattributed": "unattributed",
        "outside": "outside of kernels",
    }
    return texts.get(kind, where)


def fitting_name(text: str, most: int = LONGEST_NAME) -> str:
    """Return the end of a name that is too long, where modules differ."""
    return text if len(text) <= most else f"...{text[3 - most :]}"


def _kernels(names: Sequence[str], each: Row, width: int) -> Iterator[str]:
    if each.kind in ("operator", "others"):
        return
    widest = max(map(len, names)) if len(names) > 1 else 0
    for name, works in zip(names, each.works, strict=False):
        if works:
            begin = f"    {name:<{widest}}  " if widest else "    "
            yield begin + _fitting(works, width - len(begin))


def _fitting(works: Sequence[Work], width: int) -> str:
    """Return as many of the kernels as fit, at least one, with how many kinds there are more.

    The library's name of a kernel stands after the last in a row that have it.
    """

    def shown(most: int) -> str:
        following = [*(work.kind for work in works[1:most]), ""]
        texts = [_work(work, last=work.kind != next_kind) for work, next_kind in zip(works, following, strict=False)]
        return listed([*texts, *("" for _ in works[most:])], most)

    return shown(next((most for most in range(len(works), 1, -1) if len(shown(most)) <= width), 1))


def _work(work: Work, *, last: bool) -> str:
    times = f"{work.count} x " if work.count > 1 else ""
    return f"{times}{work.label}{f' ({work.kind})' if work.kind and last else ''}"


def _coverage(explained: Explanation) -> Iterator[str]:
    for name, coverage, mapped in zip(explained.names, explained.coverage, explained.mapped, strict=True):
        known = f"; {100 * mapped:.1f} % of that is in modules and layout changes" if explained.names_modules else ""
        yield f"{name}: {100 * coverage:.0f} % of the time of a call was profiled{known}"
        if coverage > SLOWED:
            yield f"  the profiler slows {name} down, so that many small kernels look larger than they are"
    if not explained.names_modules:
        yield "Too little of the time was profiled to name modules, so the rows are kinds of operators."
    elif is_sure(explained):
        yield f"Modules and layout changes explain {100 * explained.explained:.0f} % of the difference."


def _counters(explained: Explanation) -> Iterator[str]:
    """Yield what the processor did in a call, and why some of it is not known."""
    for counter in explained.counters:
        unit = "clock" if counter.name == CLOCK else f"{counter.name.replace('_', ' ')} a call"
        values = ", ".join(
            f"{name} {_scaled(value.value)}{'Hz' if counter.name == CLOCK else ''}"
            for name, value in zip(explained.names, counter.values, strict=True)
        )
        yield f"{unit}: {values}"
    if explained.counters and (words := [*in_words(explained.to_dict()["counters"])]):
        yield f"{explained.names[-1]} beside {explained.names[0]}: {', '.join(words)}"
    if explained.uncounted:
        yield f"Not counted: {explained.uncounted}."


def _scaled(value: float) -> str:
    factor, prefix = next((each for each in ((1e9, " G"), (1e6, " M"), (1e3, " k")) if value >= each[0]), (1.0, " "))
    return f"{value / factor:.3g}{prefix}".rstrip()
