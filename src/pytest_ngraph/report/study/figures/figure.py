"""What a figure is, whether or not the study has its data."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from altair.typing import ChartType


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure.

    name: the stem of its files.
    number: in the study; empty for those beyond it.
    note: what it shows and how that was computed.
    chart: None where data are missing.
    missing: which data these are; else empty.
    left_out: what of the data is not drawn, and where to find it; else empty.
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
        """This figure with its chart."""
        return dataclasses.replace(self, chart=chart, left_out=left_out)

    def without(self, missing: str) -> Figure:
        """This figure without data. missing: as of the field."""
        return dataclasses.replace(self, missing=missing)

    def spec(self, config: dict[str, Any]) -> dict[str, Any]:
        """The Vega-Lite specification of the chart with a configuration of `theme`. Raises `ValueError` without one."""
        if self.chart is None:
            raise ValueError(f"{self.name} has no chart: {self.missing}")
        spec: dict[str, Any] = self.chart.to_dict()
        return {**spec, "config": config}
