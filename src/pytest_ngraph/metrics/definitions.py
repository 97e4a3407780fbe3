"""The table of all metrics. Reports, thresholds and documentation read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Extent = Literal["case", "curve", "axis", "stack", "comparison"]
"""What a metric describes: one case, its curve over batch sizes, its curve over a size of the user's own, its stack
over depths, or two arms compared."""
Unit = Literal["samples/s", "tokens/s", "s", "B", "%", "ratio", "samples", "count", "requests/s"]
Change = Literal["share", "difference", "new"]
"""How a metric is compared with the base's: by the share lost, by the difference, or by items new since the base."""

SPANNED: dict[Extent, tuple[str, ...]] = {
    "case": (),
    "curve": ("batch_size",),
    "axis": (),
    "stack": ("depth",),
    "comparison": ("workload", "depth", "width"),
}
"""The fields of a case over which a metric extends. A threshold cannot select it by these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The definition of a metric.

    Attributes:
        name: its key in `DEFINITIONS`.
        extent: what it describes.
        better: whether higher or lower values are better.
        unit: unit of its values.
        formula: as documented.
        source: where it comes from.
        change: how it is compared with the base's; None where it cannot be.
    """

    name: str
    extent: Extent
    better: Literal["higher", "lower"]
    unit: Unit
    formula: str
    source: str = "this plugin"
    change: Change | None = None

    @property
    def short_name(self) -> str:
        """The name without its unit, which thresholds may leave out: `worker_memory`."""
        for suffix in ("_s", "_bytes", "_percent"):
            if self.name.endswith(suffix) and not self.name.endswith("_per_s"):
                return self.name.removesuffix(suffix)
        return self.name


def _cost(name: str, unit: Unit, formula: str) -> Definition:
    """Return the definition of what serving a case costs."""
    return Definition(name=name, extent="case", better="lower", unit=unit, formula=formula, change="share")


def _table(*definitions: Definition) -> dict[str, Definition]:
    return {definition.name: definition for definition in definitions}


DEFINITIONS = _table(
    Definition(
        name="throughput",
        extent="case",
        better="higher",
        unit="samples/s",
        formula="T_c(b) = b / median seconds per iteration",
        source="study V-A4",
        change="share",
    ),
    Definition(
        name="latency_s",
        extent="case",
        better="lower",
        unit="s",
        formula="median seconds per iteration",
        change="share",
    ),
    Definition(
        name="p50_s",
        extent="case",
        better="lower",
        unit="s",
        formula="median seconds of a single call, timed by itself",
        change="share",
    ),
    Definition(
        name="p90_s",
        extent="case",
        better="lower",
        unit="s",
        formula="seconds that 9 in 10 single calls do not exceed",
        change="share",
    ),
    Definition(
        name="p95_s",
        extent="case",
        better="lower",
        unit="s",
        formula="seconds that 19 in 20 single calls do not exceed",
        change="share",
    ),
    Definition(
        name="p99_s",
        extent="case",
        better="lower",
        unit="s",
        formula="seconds that 99 in 100 single calls do not exceed",
        change="share",
    ),
    Definition(
        name="max_rate",
        extent="case",
        better="higher",
        unit="requests/s",
        formula="highest rate of requests whose p99 stays under the limit (--objective=serving)",
    ),
    Definition(
        name="tokens_per_s",
        extent="case",
        better="higher",
        unit="tokens/s",
        formula="T_c(b) x tokens of a sample: those of the prompt (prefill, encoders) or 1 (decode)",
    ),
    Definition(
        name="time_to_first_token_s",
        extent="case",
        better="lower",
        unit="s",
        formula="latency_s of a prefill",
    ),
    Definition(
        name="speedup",
        extent="case",
        better="higher",
        unit="ratio",
        formula="S = T_c(b) / T_identity(b)",
        source="study V-C",
        change="share",
    ),
    Definition(
        name="rtr",
        extent="case",
        better="higher",
        unit="ratio",
        formula="T_c(b) / T_c(1)",
        source="study V-A4",
        change="share",
    ),
    Definition(
        name="ase",
        extent="case",
        better="higher",
        unit="ratio",
        formula="T_c(b) / (b T_c(1))",
        source="study V-A4",
        change="share",
    ),
    Definition(
        name="bsr",
        extent="case",
        better="higher",
        unit="ratio",
        formula="ASE_c(b) / ASE_identity(b)",
        source="study V-A4",
        change="share",
    ),
    Definition(
        name="compile_s",
        extent="case",
        better="lower",
        unit="s",
        formula="convert_s + compile_s of the record: exported program to first possible iteration, in a cold start",
        source="study, Table III",
        change="share",
    ),
    Definition(
        name="break_even",
        extent="case",
        better="lower",
        unit="samples",
        formula="compile_s / (1 / T_identity(b) - 1 / T_c(b)), infinite where c is not faster",
    ),
    Definition(
        name="score",
        extent="case",
        better="higher",
        unit="ratio",
        formula="what your own function makes of the outputs: the mark's score",
    ),
    Definition(
        name="cpu_percent",
        extent="case",
        better="lower",
        unit="%",
        formula="CPU seconds of the worker / (wall seconds x logical CPUs)",
        source="study V-F",
        change="share",
    ),
    Definition(
        name="cpu_reduction",
        extent="case",
        better="higher",
        unit="ratio",
        formula="1 - CPU_c(b) / CPU_identity(b)",
        source="study V-F",
    ),
    Definition(
        name="worker_memory_bytes",
        extent="case",
        better="lower",
        unit="B",
        formula="resident peak of the process that measures, from loading to the last round",
        change="share",
    ),
    Definition(name="device_memory_bytes", extent="case", better="lower", unit="B", formula="peak on the accelerator"),
    _cost("cold_start_s", "s", "exec to the first answer of a fresh process that only serves; median of the launches"),
    _cost("serving_import_s", "s", "the part of cold_start_s that imports serve.py and its runtime"),
    _cost("serving_load_s", "s", "the part of cold_start_s that loads the model: load()"),
    _cost("serving_first_call_s", "s", "the part of cold_start_s that answers the first time"),
    _cost("serving_memory_bytes", "B", "resident memory of a process that only serves, once steady; median likewise"),
    _cost("serving_private_bytes", "B", "the part of serving_memory_bytes that no other process shares"),
    _cost("serving_peak_bytes", "B", "resident peak of a process that only serves; median likewise"),
    _cost("artifact_bytes", "B", "size of the files that serve.py loads"),
    _cost("install_bytes", "B", "size of what requirements.txt installs"),
    Definition(
        name="friction",
        extent="curve",
        better="lower",
        unit="ratio",
        formula="φ of ASE(b) = b^-φ: -Σ ln b ln ASE(b) / Σ (ln b)²; 0 perfect, 1 saturated, above 1 batching hurts",
        source="after study V-E",
        change="difference",
    ),
    Definition(
        name="friction_mitigation",
        extent="curve",
        better="higher",
        unit="ratio",
        formula="φ_identity - φ_c",
        source="after study V-E",
        change="difference",
    ),
    Definition(
        name="scaling",
        extent="axis",
        better="higher",
        unit="ratio",
        formula="T_c(n) / T_c(n0) over a size of your own, n0 its smallest",
    ),
    Definition(
        name="growth",
        extent="axis",
        better="lower",
        unit="ratio",
        formula="γ of seconds(n) / seconds(n0) = (n / n0)^γ, as friction over batch sizes; 1 linear, 2 quadratic",
    ),
    Definition(
        name="growth_mitigation",
        extent="axis",
        better="higher",
        unit="ratio",
        formula="γ_identity - γ_c",
    ),
    Definition(
        name="depth_slope",
        extent="stack",
        better="higher",
        unit="ratio",
        formula="least-squares slope of the speedup over depth",
        source="study V-C",
    ),
    Definition(
        name="depth_retention",
        extent="stack",
        better="higher",
        unit="ratio",
        formula="speedup of the deepest stack / speedup at depth 1",
        source="study V-C",
        change="share",
    ),
    Definition(
        name="rank_inversions",
        extent="comparison",
        better="lower",
        unit="count",
        formula="pairs of workloads whose order by throughput surely reverses, also in other processes",
        source="study, Figure 1",
        change="new",
    ),
)
