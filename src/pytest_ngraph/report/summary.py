"""The summary at the end of a run, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ngraph.gate import Check
from pytest_ngraph.metrics import Metrics
from pytest_ngraph.metrics.cells import Key, key_of
from pytest_ngraph.record import Record
from pytest_ngraph.report.block import block
from pytest_ngraph.report.findings import findings
from pytest_ngraph.report.lines import Line

LEGEND = "* fastest   = not surely slower   ~ did not settle   ± half the 95 % interval"


def summary(records: Sequence[Record], metrics: Metrics, checks: Sequence[Check] = (), width: int = 80) -> list[Line]:
    """Return one block for each workload on each device, then the findings across them, then the thresholds.

    Args:
        metrics: computed from these records.
        width: columns of the terminal; 80 columns show the most important figures.
    """
    if not records:
        return [Line("nothing was measured", "note")]
    latest = {record.case: record for record in records if record.outcome != "unchanged"}  # the verdicts show these
    if not latest:
        return []
    blocks: dict[Key, list[Record]] = {}
    for case, record in latest.items():
        blocks.setdefault(key_of(case), []).append(record)
    lines: list[Line] = []
    for own in blocks.values():
        lines += [*block(own, metrics, width), Line("")]
    lines += [Line(LEGEND, "note"), Line("")]
    found = findings(metrics, checks, width)
    return lines + found if found else lines[:-1]
