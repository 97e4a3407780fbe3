"""The data of the page. Texts that repeat are kept once, so that years of nights open at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pytest_ngraph.history import facts, texts
from pytest_ngraph.history.index import Index
from pytest_ngraph.history.series import Series
from pytest_ngraph.wording import Numbered, significant

DIGITS = 5
"""Digits of a value that are shown."""


def contents(found: Sequence[Series], index: Index) -> dict[str, Any]:
    """Return the page's data as JSON-ready data: the series, and texts that nights refer to by number.

    Days are those of the machine that writes the page, as in the terminal, whatever the reader's time zone is.
    """
    days, commits, environments = Numbered(), Numbered(), Numbered()
    series = [_series(each, days, commits, environments) for each in found]
    about = [_environment(index, text) for text in environments]
    return {"series": series, "days": [*days], "commits": [*commits], "environments": about}


def _series(series: Series, days: Numbered, commits: Numbered, environments: Numbered) -> dict[str, Any]:
    intervals = [texts.bounds(series, place) for place in range(len(series.rows))]
    return {
        "case": series.case_id,
        "workload": series.parts.get("workload", ""),
        "compiler": series.parts.get("compiler", ""),
        "device": series.parts.get("device", ""),
        "unit": series.unit,
        "when": [round(row.started_at) for row in series.rows],
        "day": [days[texts.day(row.started_at)] for row in series.rows],
        "value": [_rounded(math.exp(value)) for value in series.chain.values],
        "low": [_rounded(low) for low, _ in intervals],
        "high": [_rounded(high) for _, high in intervals],
        "commit": [commits[row.commit] for row in series.rows],
        "environment": [environments[f"{row.machine} {row.libraries}"] for row in series.rows],
        "anchors": texts.anchors(series),
        "steps": [texts.step(series, step) for step in series.steps],
    }


def _environment(index: Index, digests: str) -> dict[str, Any]:
    machine, _, libraries = digests.partition(" ")
    about = index.facts(machine) | index.facts(libraries)
    return {name: text for name, text in about.items() if name not in facts.PASSING}


def _rounded(value: float) -> float | None:
    return significant(value, DIGITS) if math.isfinite(value) else None
