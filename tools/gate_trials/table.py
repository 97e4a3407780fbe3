"""The results as Markdown: one table for each condition."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

import markdown_output

from gate_trials import asv_rule, benchmark_plugin, product
from gate_trials.cells import Cell
from gate_trials.conditions import CONDITIONS
from gate_trials.results import Judgement, Results

VERDICTS = ("regressed", "inconclusive", "unchanged", "improved")
RIVALS = (*benchmark_plugin.NAMES, asv_rule.NAME)
RULES = (product.NAME, *RIVALS)
HEADING = (
    "threads, slowdown", "truly", "cells", *VERDICTS, "measured, most", "wall", *(f"`{name}`" for name in RIVALS),
)  # fmt: skip
LEGEND = (
    "Slowdown: as injected; truly: as calibrated on the quiet machine, with the ends of the 95 % intervals. Measured, "
    "most: seconds for a cell, base and head together, on average and at the most; wall: with building, compiling and "
    "starting processes. Last: cells that other rules call regressed, of those they were given, and how long it took."
)


def report(results: Results) -> str:
    """Return the tables of the conditions that were tried. Only cells that the gate has judged count."""
    parts = [LEGEND]
    for name, heading in CONDITIONS.items():
        cells = [cell for cell in results.judged([product.NAME]) if cell.condition == name]
        if cells:
            parts += [f"{heading[0].upper()}{heading[1:]}:", _table(cells, results)]
    return "\n\n".join([*parts, *_unjudged(results)])


def _table(cells: Sequence[Cell], results: Results) -> str:
    kinds = sorted({(-cell.threads, cell.slowdown_percent) for cell in cells})
    alike = [[cell for cell in cells if (-cell.threads, cell.slowdown_percent) == kind] for kind in kinds]
    return markdown_output.table(HEADING, [_row(each, results) for each in alike])


def _row(cells: Sequence[Cell], results: Results) -> list[str]:
    """Return the row of the cells with the same threads and slowdown, under all compilers."""
    gate = [results.judgements[cell, product.NAME] for cell in cells]
    counts = Counter(each.verdict for each in gate)
    measured = [each.measured_s for each in gate]
    return [
        f"{cells[0].threads}, {cells[0].slowdown_percent:g} %",
        _truth(cells, results),
        str(len(cells)),
        *(str(counts[name]) for name in VERDICTS),
        f"{statistics.mean(measured):.1f}, {max(measured):.1f} s",
        f"{statistics.mean(each.wall_s for each in gate):.0f} s",
        *(
            _rival([results.judgements[cell, rule] for cell in cells if (cell, rule) in results.judgements])
            for rule in RIVALS
        ),
    ]


def _truth(cells: Sequence[Cell], results: Results) -> str:
    """Return the injected slowdown: the mean, and the ends of the intervals."""
    found = {injection for cell in cells if (injection := results.injection_of(cell))}
    if not found:
        return "0"
    low, high = min(each.low_percent for each in found), max(each.high_percent for each in found)
    return f"{statistics.mean(each.true_percent for each in found):.2f} ({low:.1f} to {high:.1f})"


def _rival(judgements: Sequence[Judgement]) -> str:
    """Return how many of the judged cells it calls regressed, and its seconds of measuring per cell."""
    if not judgements:
        return "–"
    count = sum(each.verdict == "regressed" for each in judgements)
    return f"{count} of {len(judgements)} ({statistics.mean(each.measured_s for each in judgements):.1f} s)"


def _unjudged(results: Results) -> list[str]:
    """Return a sentence on the cells that the gate could not measure."""
    gate = [results.judgements[cell, product.NAME] for cell in results.judged([product.NAME])]
    count = sum(each.verdict not in VERDICTS for each in gate)
    return [f"{count} cells could not be measured."] if count else []
