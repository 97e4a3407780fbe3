"""The cost of working on a store, by the number of its records."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import report_scale
from markdown_output import table

from comparing import figures
from pytest_ngraph.metrics.text import number

REPORT = [stage for stage in report_scale.STAGES if stage != "read"]
"""The stages of a report. The first one includes reading the store."""
NIGHTS = " of nights"
"""The end of a work's name on a store of nights, which measure the same cases (`synthetic_store.write`)."""
OF_SWEEPS: dict[str, Sequence[str]] = {
    "report": REPORT,
    "report unkept": REPORT,
    **{stage: [stage] for stage in report_scale.ALONE},
}
WORKS = OF_SWEEPS | {f"{work}{NIGHTS}": stages for work, stages in OF_SWEEPS.items() if work != report_scale.METRICS}
"""The stages of each work, which one fresh process does one after another. `metrics` has no store, and `report unkept`
reads the records, because the rows that sessions keep of them are removed."""

Cost = tuple[float, float]
"""Seconds, and the most memory held in MiB."""


def find(parsed: argparse.Namespace) -> str:
    """Return a row for each work: its costs at each size, and the slope of its seconds over all sizes."""

    def sizes(work: str) -> list[int]:
        return [size for size in parsed.records if work == report_scale.METRICS or size <= parsed.most_stored]

    with report_scale.kept(parsed.stores) as stores:
        costs = {work: [cost(work, size, parsed.rounds, stores) for size in sizes(work)] for work in parsed.works}
    heading = ["work", *(f"{size:,} records" for size in parsed.records), "slope of the seconds"]
    return table(heading, [row(work, parsed.records, found) for work, found in costs.items()])


def cost(work: str, records: int, rounds: int, stores: Path) -> Cost:
    """Return the cost of a work on this number of records, with this number of rounds each.

    Args:
        stores: folder with stores of some sizes, in which one of this size is made if it has none.
    """
    kinds = {"nights": work.endswith(NIGHTS), "unkept": "unkept" in work}
    stages = report_scale.in_fresh_process(records, rounds, list(WORKS[work]), stores, **kinds).values()
    return sum(stage["seconds"] for stage in stages), max(stage["peak_mib"] for stage in stages)


def row(work: str, sizes: Sequence[int], costs: Sequence[Cost]) -> list[str]:
    cells = [f"{number(seconds)} s, {peak_mib:.0f} MiB" for seconds, peak_mib in costs]
    blank = ["–"] * (len(sizes) - len(costs))
    slope = f"{figures.slope(sizes[: len(costs)], [seconds for seconds, _ in costs]):.2f}" if len(costs) > 1 else ""
    return [work, *cells, *blank, slope]
