"""The type of the study's figures, with or without data."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from altair.typing import ChartType


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure.

    Attributes:
        name: stem of its files.
        number: its number in the study; empty for a figure that the study does not have.
        note: what it shows and how that was computed.
        chart: None where data are missing.
        missing: the data that are missing; else empty.
        left_out: which data are not drawn, and where to find them; else empty.
    """

    name: str
    number: str = ""
    title: str
    note: str
    chart: ChartType | None = None
    missing: str = ""
    left_out: str = ""

    @property
    def heading(self) -> str:
        """The number and the title: `Figure 5: Throughput over batch size`."""
        return f"Figure {self.number}: {self.title}" if self.number else self.title

    def drawn(self, chart: ChartType, left_out: str = "") -> Figure:
        """Return this figure with its chart."""
        return dataclasses.replace(self, chart=chart, left_out=left_out)

    def without(self, missing: str) -> Figure:
        """Return this figure without data; `missing` is the attribute."""
        return dataclasses.replace(self, missing=missing)

    def spec(self, config: dict[str, Any]) -> dict[str, Any]:
        """Return the chart as Vega-Lite, with a configuration of `theme`. Raises `ValueError` without a chart."""
        if self.chart is None:
            raise ValueError(f"{self.name} has no chart: {self.missing}")
        spec: dict[str, Any] = self.chart.to_dict()
        return {**spec, "config": config}
