"""Made-up nights: runs of a store in which cases were measured beside an anchor."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
from synthetic import case, measured

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Build, Comparison, Launch, PairedRound, Quad
from pytest_ngraph.history.row import Row
from pytest_ngraph.history.summary import Ratio
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Estimate
from pytest_ngraph.store import Journal

FIRST = datetime(2026, 1, 1, 2, 0, 0)
CASE = case("openvino")
ENVIRONMENT = {"fingerprint": "abc", "processor": "Xeon", "cores": "0,1", "python": "3.11.7", "torch": "2.14.0"}


def compared(ratio: float, seconds: float = 0.01, noise: float = 0.001, seed: int = 0) -> Comparison:
    """Return a comparison whose head takes `ratio` times as long as its base, in two launches."""
    random = np.random.default_rng(seed)

    def times(center: float) -> tuple[float, float]:
        one, two = center * np.exp(random.normal(0, noise, 2))
        return float(one), float(two)

    def launch(*, fresh: bool) -> Launch:
        builds = tuple(
            Build(
                rounds=tuple(
                    PairedRound(
                        quads=tuple(Quad(times(seconds), times(seconds * ratio)) for _ in range(3)), elapsed_s=0.1
                    )
                    for _ in range(4)
                )
            )
            for _ in range(2)
        )
        return Launch(builds=builds, iterations=3, fresh=fresh)

    return Comparison(against="v1.0 at 1a2b3c4", launches=(launch(fresh=False), launch(fresh=True)))


def beside(of: Case, ratio: float, night: int, seconds: float = 0.01) -> Record:
    """Return the record of a case that was measured beside an anchor in this night."""
    started = (FIRST + timedelta(days=night)).timestamp()
    record = measured(of, seconds * ratio, started_at=started)
    return dataclasses.replace(record, comparison=compared(ratio, seconds, seed=night))


def write(
    store: Path,
    ratios: Mapping[Case, Sequence[float]],
    environment: Mapping[str, str] = ENVIRONMENT,
    first: int = 0,
    anchor: str = "v1.0",
    anchor_commit: str = "a" * 40,
    head: str = "",
) -> list[str]:
    """Write a run for each night, and return their ids.

    Every night has the commit `head`; without it, night n has n as a number of 40 digits.
    """
    runs = []
    for place in range(len(next(iter(ratios.values())))):
        night = first + place
        source = {"commit": head or commit(night), "branch": "main", "anchor": anchor, "anchor commit": anchor_commit}
        journal = Journal(store, dict(environment), now=partial(_begun, night), source=source)
        for of, of_nights in ratios.items():
            if not math.isnan(of_nights[place]):
                journal.append(dataclasses.replace(beside(of, of_nights[place], night), run=journal.id))
        journal.end(whole=True)
        journal.close()
        runs.append(journal.id)
    return runs


def _begun(night: int) -> datetime:
    return FIRST + timedelta(days=night)


def commit(night: int) -> str:
    """Return the commit of a night."""
    return f"{night:040d}"


def row(night: int, log: float, anchor: str = "a", head: str = "", error: float = 0.003) -> Row:
    """Return the index's row of a case in this night: `log` is its logarithm to the anchor."""
    return Row(
        case_id="case",
        file="",
        run=str(night),
        outcome="measured",
        started_at=float(night),
        commit=head or commit(night),
        branch="main",
        against="",
        anchor=anchor,
        anchor_commit=anchor,
        libraries="",
        machine="",
        latency=Estimate.exactly(1.0),
        ratio=Ratio(log, error, log - 2 * error, log + 2 * error),
        offset=None,
        length=0,
    )
