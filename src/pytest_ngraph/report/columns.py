"""The columns of a block: what each shows of a case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_ngraph.case import Case
from pytest_ngraph.metrics import DEFINITIONS, Metric
from pytest_ngraph.metrics.text import number, quantity, ratio, with_interval
from pytest_ngraph.stats import Estimate, relative_half_width

ABSENT = "-"
INAPPLICABLE = "none"


@dataclass(frozen=True, slots=True)
class FigureColumn:
    """A column that shows a metric.

    Attributes:
        rank: as in `Column`.
        show: returns the text of an estimate; None for its value in the metric's unit.
        side_by_side: the heading where several iterations run at a time; empty for the same heading.
        optional: whether the column is left out where no case has the metric.
    """

    heading: str
    metric: str
    rank: int
    show: Callable[[Estimate], str] | None = None
    side_by_side: str = ""
    optional: bool = False

    def heading_for(self, case: Case) -> str:
        return self.heading if case.runs_single_calls else self.side_by_side or self.heading

    def text(self, metric: Metric) -> str:
        """Return what is shown of a metric that has an estimate."""
        assert metric.estimate is not None
        if self.show is not None:
            return self.show(metric.estimate)
        return quantity(metric.estimate.value, DEFINITIONS[metric.name].unit)


def _bare(estimate: Estimate) -> str:
    return number(estimate.value)


def _ratio(estimate: Estimate) -> str:
    return ratio(estimate.value)


def _uncertainty(estimate: Estimate) -> str:
    if not estimate.is_bounded:
        return "?"
    percent = 100 * relative_half_width(estimate)
    return f"{percent:.1f}" if percent < 9.95 else f"{percent:.0f}"


PERCENTILE_RANKS = {"p50_s": 13, "p90_s": 12, "p95_s": 11, "p99_s": 1}
"""In a narrow terminal, lower percentiles are left out first."""
FIGURES = (
    FigureColumn("samples/s", "throughput", 0, _bare),
    FigureColumn("±%", "throughput", 1, _uncertainty),
    FigureColumn("tokens/s", "tokens_per_s", 2, _bare, optional=True),
    FigureColumn("latency", "latency_s", 7, side_by_side="iteration"),
    *(FigureColumn(name.removesuffix("_s"), name, rank, optional=True) for name, rank in PERCENTILE_RANKS.items()),
    FigureColumn("max rate", "max_rate", 1, with_interval, optional=True),
    FigureColumn("speedup", "speedup", 2, _ratio),
    FigureColumn("RTR", "rtr", 5, _ratio),
    FigureColumn("ASE", "ase", 4, _ratio),
    FigureColumn("BSR", "bsr", 3, _ratio),
    FigureColumn("score", "score", 2, optional=True),
    FigureColumn("compile", "compile_s", 6),
    FigureColumn("CPU %", "cpu_percent", 9, lambda estimate: f"{estimate.value:.0f}"),
    FigureColumn("memory", "worker_memory_bytes", 8),
    FigureColumn("device mem", "device_memory_bytes", 3, optional=True),
    FigureColumn("cold start", "cold_start_s", 2, optional=True),
    FigureColumn("serving", "serving_memory_bytes", 2, optional=True),
    FigureColumn("files", "artifact_bytes", 4, optional=True),
    FigureColumn("install", "install_bytes", 9, optional=True),
)
ERROR_RANK = 10
