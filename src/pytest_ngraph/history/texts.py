"""A history as lines for the terminal, and as JSON."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_ngraph.gate.in_words import change
from pytest_ngraph.history.series import Found, Series
from pytest_ngraph.history.uncompared import Uncompared
from pytest_ngraph.stats import LEVEL, without_infinities
from pytest_ngraph.wording import counted, listed

SHORT = 10
"""Digits of a commit that are shown."""
MOST_CHANGES = 6
MOST_REASONS = 5
MOST_CASES = 3


def in_lines(found: Sequence[Series]) -> Iterator[str]:
    """Yield the steps, the largest first, then what they were looked for in."""
    steps = [(series, step) for series in found for step in series.steps]
    for series, step in sorted(steps, key=lambda pair: (pair[0].unit, -abs(pair[1].step.change.value))):
        yield from _step(series, step)
    nights = max((len(series.rows) for series in found), default=0)
    slower = sum(step.is_slower for _, step in steps)
    kinds = f": {slower} slower, {len(steps) - slower} faster" if steps else ""
    looked_at = f"{counted(len(found), 'series', 'series')} of up to {counted(nights, 'night')}"
    yield f"{counted(len(steps), 'step')}{kinds}, in {looked_at}"
    if left_out := max((series.left_out for series in found), default=0):
        yield f"{counted(left_out, 'night')} left out, measured beside an anchor that nothing links to the others"
    apart = sum(bool(series.gaps()) for series in found)
    if apart:
        yield f"{counted(apart, 'series', 'series')} with anchors never compared: no step is looked for across these"


def of_uncompared(too_long: Sequence[Uncompared], new: Sequence[Uncompared]) -> Iterator[str]:
    """Yield which cases have no ratio, and why.

    Args:
        too_long: those that have none for too long.
        new: those that their anchor does not have.
    """
    groups: dict[str, list[Uncompared]] = defaultdict(list)
    for each in too_long:
        groups[each.reason or "why is not known"].append(each)
    most_first = sorted(groups.items(), key=lambda group: -len(group[1]))
    for reason, own in most_first[:MOST_REASONS]:
        last = max((each.last for each in own if each.last), default=None)
        since = f"since {day(last)}" if last else "yet"
        names = listed([each.case_id for each in own], MOST_CASES)
        yield f"{counted(len(own), 'case')} not compared with the anchor {since} ({names}): {reason}"
    if left := sum(len(own) for _, own in most_first[MOST_REASONS:]):
        yield f"{counted(left, 'more case')} not compared with the anchor, for other reasons"
    if too_long:
        yield "  A slowdown in these is not seen. Name an anchor that can be built: pytest --ngraph-history=ANCHOR"
    if new:
        anchors = listed(list(dict.fromkeys(each.nights[-1].anchor for each in new)), MOST_CASES)
        them = "them" if len(new) > 1 else "it"
        yield (
            f"{counted(len(new), 'case')} newer than the anchor {anchors}, so that nothing is compared with {them}. "
            f"A later anchor has {them}: pytest --ngraph-history=ANCHOR"
        )


def _step(series: Series, found: Found) -> Iterator[str]:
    yield f"{series.case_id}: {change(found.ratio, LEVEL)} since {day(found.when)}"
    if series.unit == "seconds":
        yield "  in seconds, which were not measured beside an anchor: it may be the machine"
    if where := _where(found.good, found.bad):
        yield f"  {where}"
    if found.libraries:
        yield f"  libraries: {listed(found.libraries, MOST_CHANGES)}"
    if found.machine:
        yield f"  machine: {listed(found.machine, MOST_CHANGES)}"
    if command := series.bisect(found):
        yield f"  {command}"


def _where(good: str, bad: str) -> str:
    """Return between which commits a step lies; nothing where neither is known."""
    if good and bad:
        same = f"at the same commit, {_short(bad)}"
        return same if good == bad else f"between {_short(good)} and {_short(bad)}"
    if bad:
        return f"up to {_short(bad)}; the commit before is not known"
    return f"after {_short(good)}; the commit after is not known" if good else ""


def _short(commit: str) -> str:
    return commit[:SHORT] + (" with uncommitted changes" if commit.endswith("+") else "")


def as_data(found: Sequence[Series]) -> list[dict[str, Any]]:
    """Return the series as JSON-ready data: nights, anchors and steps, with ratios instead of logarithms."""
    return [
        {
            "case": series.case_id,
            "parts": dict(series.parts),
            "unit": series.unit,
            "nights": [night(series, place) for place in range(len(series.rows))],
            "anchors": anchors(series),
            "left_out": series.left_out,
            "steps": [step(series, each) for each in series.steps],
        }
        for series in found
    ]


def night(series: Series, place: int) -> dict[str, Any]:
    """Return one night: its value, which is a ratio to the first anchor or seconds, and where it comes from."""
    row = series.rows[place]
    value = float(series.chain.values[place])
    low, high = bounds(series, place)
    data = {
        "when": row.started_at,
        "value": math.exp(value),
        "low": low,
        "high": high,
        "run": row.run,
        "commit": row.commit,
        "branch": row.branch,
        "libraries": row.libraries,
        "machine": row.machine,
    }
    return dict(without_infinities(data))


def bounds(series: Series, place: int) -> tuple[float, float]:
    """Return the 95 % interval of a night's value, without the uncertainty of links to earlier anchors."""
    row = series.rows[place]
    value = float(series.chain.values[place])
    if series.unit == "ratio" and row.ratio:
        return math.exp(value + row.ratio.low - row.ratio.log), math.exp(value + row.ratio.high - row.ratio.log)
    assert row.latency is not None
    return row.latency.low, row.latency.high


def step(series: Series, found: Found) -> dict[str, Any]:
    """Return one step: its size as a ratio, where it lies, and what changed."""
    ratio = found.ratio
    return {
        "when": found.when,
        "place": found.step.place,
        "earliest": found.step.earliest,
        "latest": found.step.latest,
        "ratio": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
        "p": found.step.p,
        "good": found.good,
        "bad": found.bad,
        "libraries": list(found.libraries),
        "machine": list(found.machine),
        "bisect": series.bisect(found),
    }


def day(seconds: float) -> str:
    """Return a date: `2026-11-25`."""
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def anchors(series: Series) -> list[dict[str, Any]]:
    """Return the anchors of a series, each with its first night and its ratio to the one that it is linked to.

    The ratio of two anchors that were never compared is None.
    """
    if series.unit != "ratio":
        return []
    found: list[dict[str, Any]] = [
        {"name": series.rows[0].anchor, "start": 0, "beside": None, "ratio": None, "error": None}
    ]
    for link in series.links:
        ratio, error = (math.exp(link.log), link.error) if math.isfinite(link.error) else (None, None)
        about = {"name": link.anchor, "start": link.start, "beside": link.beside, "ratio": ratio, "error": error}
        found.append(about)
    return found
