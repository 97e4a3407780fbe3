"""The main findings, in a few sentences with numbers and intervals, for a reader who has not seen any figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import polars as pl

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.metrics.between import Between, Spread
from pytest_ngraph.metrics.text import with_interval
from pytest_ngraph.report.study.columns import SCOPE
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures.inversions import by_compiling, strongest_first
from pytest_ngraph.report.study.figures.rows import COMPILED, of_each, of_metric
from pytest_ngraph.report.study.sure import as_good, fastest, is_surely_above_one, measured_as_a_whole
from pytest_ngraph.stats import Estimate
from pytest_ngraph.wording import counted, listed

MOST = 4
"""Maximum number of places, compilers or reasons that a sentence names; the tables have the others."""
CELL = ("place", "network", "batch_size", "compiler")
RATE = ("throughput", "throughput_low", "throughput_high", "session")
PROBLEM = 60
"""Maximum number of characters of a failure's reason."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Findings on one topic.

    Attributes:
        topic: the heading.
    """

    topic: str
    sentences: tuple[str, ...]


def findings(study: Study) -> list[Finding]:
    """Return the topics on which there are findings."""
    made = [Finding(topic, tuple(find(study))) for topic, find in TOPICS.items()]
    return [finding for finding in made if finding.sentences]


def _fastest(study: Study) -> Iterator[str]:
    cases = of_each(study, *CELL, "outcome", "reason", *RATE)
    cells = ("place", "network", "batch_size")
    ranked = fastest(measured_as_a_whole(cases, cells), cells, study.between)
    del cases
    for place, own in _by_place(ranked):
        sure = own.filter("sure").partition_by("compiler", maintain_order=True)
        undecided = own.height - sum(cells.height for cells in sure)
        most_first = sorted(sure, key=lambda cells: -cells.height)
        wins = [f"{cells.item(0, 'compiler')} is fastest in {_cells(cells)}" for cells in most_first]
        results = [*wins[:MOST], *([f"{undecided:,} are too close to call"] if undecided else [])]
        yield f"On {place}, of {counted(own.height, 'cell')} (a workload at a batch size): {', '.join(results)}."
    gains = of_metric(study, "speedup", COMPILED).filter(pl.col("low") > 1).sort("low", descending=True)
    real = (row for row in gains.iter_rows(named=True) if is_surely_above_one(_estimate(row), _spread(study, row)))
    for best in islice(real, 1):
        yield (
            f"The greatest gain over identity: × {_interval(best)} by {best['compiler']} "
            f"({best['network']}, batch size {best['batch_size']}, {best['place']})."
        )


def _cells(cells: pl.DataFrame) -> str:
    """Return the number of cells, and their names if they are few: `2 (resnet18 at 1 and 8)`."""
    if cells.height > MOST:
        return f"{cells.height:,}"
    sizes = pl.col("batch_size").sort().cast(pl.String).str.join(" and ")
    named = cells.group_by("network", maintain_order=True).agg(sizes)
    return f"{cells.height} ({', '.join(f'{network} at {at}' for network, at in named.rows())})"


def _reversed(study: Study) -> Iterator[str]:
    own = by_compiling(study.inversions)
    for row in strongest_first(own).head(1).iter_rows(named=True):
        before, after = _interval(row, "before"), _interval(row, "after")
        yield (
            f"Compiling reverses which of two workloads is faster in {counted(own.height, 'case')}. The strongest: on "
            f"{row['device']} at batch size {row['batch_size']}, {row['workload_a']} runs × {before} as fast as "
            f"{row['workload_b']} under identity, but × {after} under {row['compiler']}."
        )
    across = study.inversions.filter(pl.col("device") != pl.col("reference_device")).height
    if across:
        yield f"Between compilers of two devices, the order of workloads is reversed in {counted(across, 'case')}."


def _batching(study: Study) -> Iterator[str]:
    rates = of_each(study, *CELL, "outcome", *RATE)
    reached = _saturated(rates.filter(pl.col("outcome") == "measured"), study.between)
    del rates
    friction = of_metric(study, "friction")
    for place, own in _by_place(reached):
        stops = own.sort("stops", "compiler", descending=[True, False]).select("compiler", "stops").rows()
        sizes = listed([f"{size:g} for {compiler}" for compiler, size in stops], MOST)
        yield (
            f"On {place}, batches pay until {sizes} (of up to {own.item(0, 'largest')}; medians over the workloads): "
            "larger ones are not faster beyond doubt."
        )
    for place, own in _by_place(friction):
        medians = own.group_by("compiler").agg(
            value=pl.col("value").median(), low=pl.col("value").min(), high=pl.col("value").max()
        )
        for row in medians.sort("value", "compiler").head(1).iter_rows(named=True):
            yield (
                f"On {place}, {row['compiler']} keeps most efficiency as batches grow: median friction "
                f"{row['value']:.2f} ({row['low']:.2f} to {row['high']:.2f} over its workloads; 0 is perfect, 1 "
                "saturated)."
            )


def _saturated(measured: pl.DataFrame, between: Between) -> pl.DataFrame:
    """Return per place and compiler the batch size from which throughput does not surely rise any more.

    It is the median over workloads of the smallest batch size that is not surely below the best one.
    """
    curve = ("place", "compiler", "network")
    several = measured.filter(pl.col("batch_size").n_unique().over(curve) > 1, pl.col("throughput_low").is_not_null())
    return (
        as_good(several, curve, between)
        .group_by(curve, maintain_order=True)
        .agg(pl.col("batch_size").min())
        .group_by("place", "compiler", maintain_order=True)
        .agg(stops=pl.col("batch_size").quantile(0.5, "lower"))
        .join(several.group_by("place").agg(largest=pl.col("batch_size").max()), on="place", maintain_order="left")
    )


def _failing(study: Study) -> Iterator[str]:
    cases = of_each(study, "compiler", "outcome", "stable", "reason")
    counts = cases.group_by("place", "compiler", maintain_order=True).agg(
        failed=(pl.col("outcome") == "failed").sum(),
        unstable=((pl.col("outcome") == "measured") & ~pl.col("stable")).sum(),
        cases=(pl.col("outcome") != "skipped").sum(),
        reason=pl.col("reason").filter(pl.col("outcome") == "failed").mode().sort().first(),
    )  # fmt: skip
    failing = counts.filter(pl.col("failed") > 0).sort("failed", descending=True, maintain_order=True)
    for row in failing.head(MOST).iter_rows(named=True):
        most_often = row["reason"] if len(row["reason"]) <= PROBLEM else row["reason"][: PROBLEM - 1] + "…"
        yield (
            f"{row['compiler']} fails in {row['failed']} of {counted(row['cases'], 'case')} on {row['place']}; "
            f"most often: {most_often}."
        )
    unstable = counts.filter(pl.col("unstable") > 0).sort("unstable", descending=True, maintain_order=True)
    by_arm = [f"{row['unstable']} of {row['compiler']} on {row['place']}" for row in unstable.iter_rows(named=True)]
    if others := unstable["unstable"][MOST:].to_list():
        by_arm[MOST:] = [f"{sum(others)} of {counted(len(others), 'other')}"]
    if by_arm:
        yield f"Cases that did not settle within their budget: {', '.join(by_arm)}."


TOPICS: dict[str, Callable[[Study], Iterator[str]]] = {
    "Fastest compiler": _fastest,
    "Rank inversions": _reversed,
    "Batching": _batching,
    "Failures and noise": _failing,
}


def _by_place(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the first places, each with its rows."""
    for place in rows["place"].unique(maintain_order=True).head(MOST):
        yield place, rows.filter(pl.col("place") == place)


def _spread(study: Study, row: dict[str, Any]) -> Spread:
    """Return what other processes would show of a row's ratio to identity."""
    same = study.cases.filter(pl.col(name).eq_missing(row[name]) for name in SCOPE if name != "compiler")
    sessions = dict(same.select("compiler", "session").iter_rows())
    return study.between.of_ratio(sessions[row["compiler"]], sessions[IDENTITY])


def _interval(row: dict[str, Any], name: str = "") -> str:
    """Return a ratio in a row with its interval, from the columns `name`, `name_low` and `name_high`."""
    return with_interval(_estimate(row, name))


def _estimate(row: dict[str, Any], name: str = "") -> Estimate:
    names = (name, f"{name}_low", f"{name}_high") if name else ("value", "low", "high")
    return Estimate(*(row[each] for each in names))
