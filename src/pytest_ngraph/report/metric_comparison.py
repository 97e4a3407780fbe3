"""The verdicts on metrics compared with a base's, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_ngraph.gate import MetricVerdict
from pytest_ngraph.report.comparison import ORDER, STYLES, numbers_of
from pytest_ngraph.report.lines import Line, wrapped


def metric_comparison(verdicts: Sequence[MetricVerdict], width: int) -> list[Line]:
    """Return a count for each base, and a sentence on each metric that is not unchanged, the worst first."""
    lines: list[Line] = []
    for against in dict.fromkeys(verdict.against for verdict in verdicts):
        own = metrics_by_severity([verdict for verdict in verdicts if verdict.against == against])
        lines += [Line(""), Line(f"Metrics against {against}: {numbers_of(own)}", "heading")]
        for verdict in own:
            if verdict.name != "unchanged":
                lines += wrapped(verdict.text, width, STYLES.get(verdict.name, "plain"))
        kept = Counter(str(verdict.threshold) for verdict in own if verdict.name == "unchanged")
        if kept:
            listed = ", ".join(f"{count} by {threshold}" for threshold, count in kept.items())
            lines += wrapped(f"unchanged: {listed}", width, "note")
    return lines


def metrics_by_severity(verdicts: Sequence[MetricVerdict]) -> list[MetricVerdict]:
    """Return the verdicts, the worst first, and those with the same name by p-value."""
    return sorted(verdicts, key=lambda verdict: (ORDER.index(verdict.name), verdict.p))
