"""The summary at the end of a run, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ngraph.gate import Check
from pytest_ngraph.metrics import Metrics
from pytest_ngraph.metrics.cells import Key, key_of
from pytest_ngraph.record import Record
from pytest_ngraph.report.answer_lines import answer_lines
from pytest_ngraph.report.block import block
from pytest_ngraph.report.findings import findings, thresholds
from pytest_ngraph.report.lines import Line
from pytest_ngraph.wording import counted

LEGEND = "* fastest   = not surely slower   ~ did not settle   ± half the 95 % interval"


FEW = 4
"""Up to this many workloads, a summary shows each of their cases unasked."""


def summary(
    records: Sequence[Record],
    metrics: Metrics,
    checks: Sequence[Check] = (),
    width: int = 80,
    *,
    is_detailed: bool = True,
) -> list[Line]:
    """Return one block for each workload on each device, then the findings across them, then the thresholds.

    The answer comes last, in a few lines.

    Args:
        metrics: computed from these records.
        width: columns of the terminal; 80 columns show the most important figures.
        is_detailed: whether blocks and findings of more than `FEW` workloads are shown, too.
    """
    if not records:
        return [Line("nothing was measured", "note")]
    latest = {record.case: record for record in records if record.outcome != "unchanged"}  # the verdicts show these
    if not latest:
        return []
    blocks: dict[Key, list[Record]] = {}
    for case, record in latest.items():
        blocks.setdefault(key_of(case), []).append(record)
    parts: list[list[Line]] = []
    if is_detailed or len(blocks) <= FEW:
        parts += [block(own, metrics, width) for own in blocks.values()]
        parts += [[Line(LEGEND, "note")], findings(metrics, checks, width)]
    else:
        parts += [thresholds(checks, metrics.between, width)]
        parts += [[Line(f"{counted(len(latest), 'case')} of {len(blocks)} workloads: -v shows each.", "note")]]
    parts.append(answer_lines(records, metrics, width))
    return [line for part in parts if part for line in (*part, Line(""))][:-1]
