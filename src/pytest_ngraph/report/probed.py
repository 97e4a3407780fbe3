"""Slow layers at several widths, as lines for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from pytest_ngraph.explain.widths import Probed, Tried
from pytest_ngraph.metrics.text import with_interval
from pytest_ngraph.stats import Estimate
from pytest_ngraph.wording import listed

MOST_MODULES = 3


def lines(compiler: str, probed: Sequence[Probed], why_none: str, width: int) -> list[str]:
    """Return each layer with its time at each width, and what follows from that; without any, why there is none."""
    if not probed:
        return textwrap.wrap(f"No layer has a width worth trying: {why_none}.", width, subsequent_indent="    ")
    found = [f"Layers alone, compiled by {compiler}, at their own width and at others"]
    for each in probed:
        found += textwrap.wrap(_heading(each), width, initial_indent="  ", subsequent_indent="    ")
        found += _table(each)
        found += textwrap.wrap(_advice(each), width, initial_indent="    ", subsequent_indent="    ")
    return found


def _heading(probed: Probed) -> str:
    slow = probed.slow
    names = listed([name or "the network" for name in slow.modules], MOST_MODULES)
    layer = slow.layer
    own = f"{layer.width} {layer.unit}, {with_interval(probed.seconds, 's')} alone"
    return f"{names}: {layer.kind}, {100 * slow.share:.0f} % of a call; {own}"


def _table(probed: Probed) -> Iterator[str]:
    times = [_in_time(each.ratio) for each in probed.tried]
    longest = max(map(len, times), default=0)
    for each, time in zip(probed.tried, times, strict=True):
        yield f"    {each.width:>6}  {time:<{longest}} time, {_percent(each.work)} multiplications"


def _in_time(ratio: Estimate) -> str:
    low, high = (100 * (bound - 1) for bound in (ratio.low, ratio.high))
    return f"{_percent(ratio.value)} [{low:.0f}, {high:.0f}]"


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.0f} %"


def _advice(probed: Probed) -> str:
    unit, own = probed.slow.layer.unit, probed.slow.layer.width
    parts = []
    if (saving := probed.best_saving) is not None:
        parts.append(f"{saving.width} {unit} save more time than multiplications: {_saved(saving)} less time")
    if (free := probed.widest_free) is not None:
        parts.append(f"{free.width} {unit} cost no more than {own}")
    return f"{'; '.join(parts) or f'No width that was tried is surely better than {own}'}."


def _saved(tried: Tried) -> str:
    ratio = tried.ratio
    value, low, high = (100 * (1 - each) for each in (ratio.value, ratio.high, ratio.low))
    return f"{value:.0f} % [{low:.0f}, {high:.0f}]"
