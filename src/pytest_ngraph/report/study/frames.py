"""Turn records, metrics and environments into frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from pytest_ngraph.case import Case, sizes_label
from pytest_ngraph.metrics import DEFINITIONS, Inversion, Metric, Scope
from pytest_ngraph.metrics.axes import BatchAxis
from pytest_ngraph.metrics.cells import Cells, flattened
from pytest_ngraph.metrics.column import Column
from pytest_ngraph.metrics.compute import Columns
from pytest_ngraph.metrics.load import SHOWN, percentiles_over_rate
from pytest_ngraph.metrics.sampled import Bools, Rows
from pytest_ngraph.metrics.stacks import Stacks
from pytest_ngraph.record import Record
from pytest_ngraph.report.study import columns
from pytest_ngraph.report.study.families import Architecture, architecture
from pytest_ngraph.stats import Floats
from pytest_ngraph.store import Run

NOTHING = Architecture("", "")
"""For a metric that extends over workloads."""
ABSENT = (float("nan"),) * 3
"""In place of an estimate."""
_NO_NAME = pl.lit("", columns.NAME)


def records(recorded: Sequence[Record], cells: Cells) -> pl.DataFrame:
    """Return one row per record, with the columns of `columns.RECORDS`; `cells` are the measurements of each record."""
    facts = {
        "case": [record.case.id for record in recorded],
        "run": [record.run for record in recorded],
        "session": [record.measured_in for record in recorded],
        **scopes([record.case for record in recorded]),
        "outcome": [_outcome(record, problem) for record, problem in zip(recorded, cells.problems, strict=True)],
        "reason": cells.problems,
        "undeployable": [
            "" if problem else record.undeployable for record, problem in zip(recorded, cells.problems, strict=True)
        ],
        **_throughputs(cells),
        "convert_s": [record.convert_s for record in recorded],
        "compile_s": [record.total_compile_s for record in recorded],
        "load_s": [record.load_s for record in recorded],
        "cpu_percent": [record.cpu_percent for record in recorded],
        "worker_memory_bytes": [record.worker_memory_bytes for record in recorded],
        "device_memory_bytes": [record.device_memory_bytes for record in recorded],
        "cold_start_s": [record.reading("cold_start_s") for record in recorded],
        **{name: _whole(recorded, name) for name in ("serving_memory_bytes", "artifact_bytes", "install_bytes")},
        "agreement_error": [record.agreement.error if record.agreement else None for record in recorded],
        "agreement_tolerance": [record.agreement.tolerance if record.agreement else None for record in recorded],
        "score": [record.score for record in recorded],
        "stable": [record.stable for record in recorded],
        "stopped": [record.stopped for record in recorded],
        "parameters": [record.model.parameters for record in recorded],
        "mult_adds": [record.model.mult_adds for record in recorded],
        "flops": [record.model.flops for record in recorded],
        "pressure_percent": [record.contention.pressure_percent for record in recorded],
        "rounds": [len(record.rounds) for record in recorded],
        "started_at": [record.started_at for record in recorded],
    }
    return pl.DataFrame(facts, schema=columns.RECORDS, strict=False)


def rounds(recorded: Sequence[Record]) -> pl.DataFrame:
    """Return one row per record, with the columns of `columns.ROUNDS`, cut from flat arrays to save memory."""
    iterations, elapsed_s = flattened(record.rounds for record in recorded)
    counts = [len(record.rounds) for record in recorded]
    facts = {
        "iterations": _lists(pl.Series(iterations).cast(pl.Int64), counts),
        "elapsed_s": _lists(pl.Series(elapsed_s), counts),
    }
    return pl.DataFrame(facts, schema=columns.ROUNDS)


def deviations(batch_sizes: pl.Series, of: pl.DataFrame) -> pl.Series:
    """Return the standard deviation of each record's rounds, as throughput; null with fewer than two.

    Args:
        batch_sizes: of each record.
        of: their rounds, with the columns of `columns.ROUNDS`.
    """
    rows = pl.int_range(pl.len(), dtype=pl.UInt32).alias("row")
    flat = of.with_columns(rows, batch_size=batch_sizes).explode("iterations", "elapsed_s")
    throughput = pl.col("batch_size") * pl.col("iterations") / pl.col("elapsed_s")
    found = flat.group_by("row").agg(deviation=throughput.std())
    return of.select(rows).join(found, on="row", how="left", maintain_order="left")["deviation"]


def case_metric(name: str, column: Column, cases: pl.DataFrame, rows: Rows | None = None) -> pl.DataFrame:
    """Return a metric of cases, with the columns of `columns.METRICS`.

    Args:
        cases: has the same rows as the column.
        rows: those to return, in their order; None for all.
    """
    scopes = cases.select(list(columns.SCOPE))
    return _joined(scopes if rows is None else scopes[rows], _values(name, column, rows))


def _values(name: str, column: Column, rows: Rows | None = None) -> pl.DataFrame:
    """Return the columns of `columns.METRICS` that are not of its scope; the arguments are those of `case_metric`."""
    found, numbers = column.estimates, column.absent.numbers
    if rows is not None:
        found, numbers = found.take(rows), numbers[rows]
    absent = pl.Series(column.absent.texts, dtype=columns.NAME)[numbers] if numbers.any() else _NO_NAME
    return pl.DataFrame({"value": pl.Series(found.values).fill_nan(None)}).with_columns(
        pl.lit(name, columns.NAME).alias("metric"),
        _bounded(found.lows, found.lows, found.highs).alias("low"),
        _bounded(found.highs, found.lows, found.highs).alias("high"),
        absent.alias("absent"),
        pl.lit(DEFINITIONS[name].unit, columns.NAME).alias("unit"),
        _NO_NAME.alias("against"),
        _NO_NAME.alias("over"),
    )


def _joined(scopes: pl.DataFrame, values: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([scopes, values], how="horizontal").select(list(columns.METRICS))


def metrics(every: Sequence[Metric]) -> pl.DataFrame:
    """Return metrics of any scope, with the columns of `columns.METRICS`."""
    values, lows, highs = np.array([metric.estimate or ABSENT for metric in every], dtype=np.float64).reshape(-1, 3).T
    facts = {
        "metric": [metric.name for metric in every],
        "value": pl.Series(values).fill_nan(None),
        "low": _bounded(lows, lows, highs),
        "high": _bounded(highs, lows, highs),
        "absent": [metric.absent for metric in every],
        "unit": [DEFINITIONS[metric.name].unit if metric.name in DEFINITIONS else "" for metric in every],
        **scopes([metric.scope for metric in every]),
        "against": [metric.scope.against if isinstance(metric.scope, Scope) else "" for metric in every],
        "over": [metric.scope.over if isinstance(metric.scope, Scope) else "" for metric in every],
    }
    return pl.DataFrame(facts, schema=columns.METRICS, strict=False)


def wider(computed: Columns, cases: pl.DataFrame) -> pl.DataFrame:
    """Return the metrics that span several cases, with the columns of `columns.METRICS`, in the order of `Columns`.

    Args:
        cases: has a row for each cell.
    """
    parts, cases = [metrics(computed.ranks)], cases.select(list(columns.SCOPE))
    for span in reversed(computed.spans):
        if isinstance(span, Stacks):
            every = np.ones(len(span.members), dtype=np.bool_)
            made = [("depth_slope", span.slope, every), ("depth_retention", span.retention, every)]
            found = _in_turn(made, cases[span.members.firsts].with_columns(depth=pl.lit(None, pl.Int64)))
        elif isinstance(span.axis, BatchAxis):
            every = np.ones(len(span.members), dtype=np.bool_)
            made = [("friction", span.exponent, every), ("friction_mitigation", span.mitigation, span.mitigated)]
            found = _in_turn(made, cases[span.members.firsts].with_columns(batch_size=pl.lit(None, pl.Int64)))
        else:
            found = metrics([*span.metrics()])
        parts.insert(0, found)
    return pl.concat(parts)


def _in_turn(made: Sequence[tuple[str, Column, Bools]], scopes: pl.DataFrame) -> pl.DataFrame:
    """Return several metrics of each scope, one scope after another; the third of each says which scopes have it."""
    shown = [np.flatnonzero(where) for _, _, where in made]
    rows = np.concatenate(shown)
    order = np.argsort(rows, kind="stable")
    values = pl.concat([_values(name, column, own) for (name, column, _), own in zip(made, shown, strict=True)])
    return _joined(scopes[rows[order]], values[order])


def inversions(found: Sequence[Inversion]) -> pl.DataFrame:
    """Return one row per inversion, with the columns of `columns.INVERSIONS`."""
    facts = {
        "reference_device": [each.winner.device for each in found],
        "reference_compiler": [each.winner.compiler for each in found],
        "device": [each.device for each in found],
        "compiler": [each.compiler for each in found],
        "batch_size": [each.winner.batch_size for each in found],
        "precision": [each.winner.precision for each in found],
        "objective": [each.winner.objective for each in found],
        "workload_a": [each.winner.network_label for each in found],
        "workload_b": [each.loser.network_label for each in found],
        "before": [each.before.value for each in found],
        "before_low": [each.before.low for each in found],
        "before_high": [each.before.high for each in found],
        "after": [each.after.value for each in found],
        "after_low": [each.after.low for each in found],
        "after_high": [each.after.high for each in found],
    }
    return pl.DataFrame(facts, schema=columns.INVERSIONS)


def machine(run: Run, devices: Iterable[str]) -> pl.DataFrame:
    """Return one row for each of these devices of a run and each fact of its environment."""
    facts = [(device, run.environment_of(device).items()) for device in devices]
    rows = [(device, run.id, key, value) for device, items in facts for key, value in items]
    return pl.DataFrame(rows, schema=columns.MACHINES, orient="row")


def loads(cells: Cells) -> pl.DataFrame:
    """Return one row per case and rate of requests, with the columns of `columns.LOADS`."""
    each = [
        (cells.cases[row], {**found, "limit_s": load.limit_s})
        for row, load in cells.loads.items()
        for found in percentiles_over_rate(load)
    ]
    figures = {name: [found[name] for _, found in each] for name in ("per_s", *SHOWN, "limit_s")}
    return pl.DataFrame({**scopes([case for case, _ in each]), **figures}, schema=columns.LOADS, strict=False)


def scopes(of: Sequence[Case | Scope]) -> dict[str, list[Any]]:
    """Return the columns of `columns.SCOPE`."""
    labels = [scope.model_label for scope in of]
    known = {label: architecture(label) if label else NOTHING for label in dict.fromkeys(labels)}
    groups = [known[label] for label in labels]
    return {
        "device": [scope.device for scope in of],
        "workload": [scope.workload for scope in of],
        "label": [label or None for label in labels],
        "family": [group.family or None for group in groups],
        "size": [group.size for group in groups],
        "style": [group.style for group in groups],
        "compiler": [scope.compiler for scope in of],
        "batch_size": [scope.batch_size for scope in of],
        "depth": [scope.depth for scope in of],
        "width": [scope.width for scope in of],
        "sizes": [sizes_label(scope.sizes) or None for scope in of],
        "precision": [scope.precision for scope in of],
        "objective": [scope.objective for scope in of],
    }


def _whole(recorded: Sequence[Record], metric: str) -> list[int | None]:
    """Return a metric that is not sampled in rounds as whole numbers: the median of bytes may lie between two."""
    found = (record.reading(metric) for record in recorded)
    return [None if value is None else round(value) for value in found]


def _outcome(record: Record, problem: str) -> str:
    if record.outcome == "unchanged":
        return "skipped"
    return "failed" if problem and record.outcome == "measured" else record.outcome


def _throughputs(cells: Cells) -> dict[str, pl.Series]:
    """Return latency, and throughput with its bounds."""
    latency = cells.latency_s
    throughput = latency.dividing(cells.batch_sizes)
    return {
        "latency_s": pl.Series(latency.values).fill_nan(None),
        "throughput": pl.Series(throughput.values).fill_nan(None),
        "throughput_low": _bounded(throughput.lows, latency.lows, latency.highs),
        "throughput_high": _bounded(throughput.highs, latency.lows, latency.highs),
    }


def _lists(flat: pl.Series, counts: Sequence[int]) -> pl.Series:
    """Return the flat series cut into lists of these lengths."""
    rows = pl.DataFrame({"row": np.repeat(np.arange(len(counts)), counts), "one": flat})
    lists = rows.group_by("row", maintain_order=True).agg("one")
    every = pl.DataFrame({"row": np.arange(len(counts))})
    return every.join(lists, on="row", how="left", maintain_order="left")["one"].fill_null([])


def _bounded(bounds: Floats, lows: Floats, highs: Floats) -> pl.Series:
    """Return bounds of intervals; null where there is no estimate, or too few rounds for an interval.

    An infinite upper bound is kept if the lower bound is positive: compile time may never be paid back.
    """
    unknown = np.isnan(bounds) | (np.isinf(highs) & (lows <= 0))
    return pl.Series(np.where(unknown, np.nan, bounds)).fill_nan(None)
