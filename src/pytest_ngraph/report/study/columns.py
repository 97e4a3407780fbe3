"""The columns of the study's frames: the one definition of their names, types, meanings and units."""

from __future__ import annotations

import polars as pl

Schema = dict[str, type[pl.DataType] | pl.DataType]

NAME = pl.Categorical()
"""Text that many rows have in common: each has the number of its text, which takes a quarter of the memory."""

SCOPE: Schema = {
    "device": NAME,
    "workload": NAME,
    "label": NAME,  # the workload with its arguments: resnet18,img_size=192
    "family": NAME,  # ResNet; the label itself for a workload that the study does not have
    "size": NAME,  # small, medium, large, or empty
    "style": NAME,  # Convolutional, Transformer, Hybrid, or empty
    "compiler": NAME,
    "batch_size": pl.Int64,
    "depth": pl.Int64,  # null for whole models
    "width": pl.Int64,  # null for whole models
    "sizes": NAME,  # sizes of the user's own: image=224,seq_len=128; null without any
    "precision": NAME,
    "objective": NAME,
}
"""What a row belongs to. In `metrics`, null where a metric extends over the column: friction has no batch size."""

CASES: Schema = {
    "case": pl.String,  # Case.id
    "run": NAME,
    "session": NAME,  # which session of the run measured it; the run itself for the one that began it
    **SCOPE,
    "outcome": NAME,  # measured, failed, skipped
    "reason": NAME,  # why it is not measured; else empty
    "undeployable": NAME,  # why a measured case is no candidate for deploying; else empty
    "latency_s": pl.Float64,  # median seconds per iteration; null unless measured
    "throughput": pl.Float64,  # samples per second, with its 95 % interval; bounds are null with too few rounds
    "throughput_low": pl.Float64,
    "throughput_high": pl.Float64,
    "convert_s": pl.Float64,  # the part of compile_s before the compiler itself begins
    "compile_s": pl.Float64,  # of a cold start: the record's convert_s + compile_s
    "load_s": pl.Float64,  # from what was compiled to the first possible iteration
    "cpu_percent": pl.Float64,  # of all logical CPUs
    "worker_memory_bytes": pl.Int64,  # peak of the process that measures
    "device_memory_bytes": pl.Int64,
    "cold_start_s": pl.Float64,  # medians of processes that only serve; null unless measured
    "serving_memory_bytes": pl.Int64,
    "artifact_bytes": pl.Int64,  # of the files that serve.py loads
    "install_bytes": pl.Int64,  # of what requirements.txt installs
    "agreement_error": pl.Float64,  # relative to eager in fp32, and what is allowed
    "agreement_tolerance": pl.Float64,
    "score": pl.Float64,  # of the user's own function; null without one
    "stable": pl.Boolean,  # whether the rounds settled within the budget
    "stopped": NAME,  # why the goal of the run asked for no more rounds
    "parameters": pl.Int64,
    "mult_adds": pl.Int64,  # of one sample, as counted by torchinfo: the study's MACs
    "flops": pl.Int64,  # of one sample, attention included
    "pressure_percent": pl.Float64,
    "rounds": pl.Int64,
}
"""One row per case, in the order in which the records were begun."""

LOADS: Schema = {
    **SCOPE,
    "per_s": pl.Float64,  # requests a second
    "p50_s": pl.Float64,  # from when a request was due to its answer
    "p95_s": pl.Float64,
    "p99_s": pl.Float64,
    "limit_s": pl.Float64,  # what 99 of 100 requests may take
}
"""One row per case and rate of requests that it was put under."""

OF_SIDES: Schema = {
    "first_latency_s": pl.Float64,
    "second_latency_s": pl.Float64,
    "ratio": pl.Float64,  # throughput of the second side over that of the first, with its 95 % interval
    "ratio_low": pl.Float64,
    "ratio_high": pl.Float64,
    "change": NAME,  # surely faster, surely slower, too close, unknown
    "reason": NAME,  # why there is no interval; else empty
}
SIDES: Schema = {**SCOPE, **OF_SIDES}
"""One row per case that both sides of a comparison measured."""

METRICS: Schema = {
    "metric": NAME,  # a name of metrics.DEFINITIONS, or one of the user's own
    "value": pl.Float64,  # null when absent; break_even is infinite where nothing is paid back
    "low": pl.Float64,  # 95 % interval; null when unknown; equal to the value if that was read only once
    "high": pl.Float64,
    "absent": NAME,  # why there is no value; else empty
    "unit": NAME,
    **SCOPE,
    "against": NAME,  # for rank_inversions: the arm compared with, in words; else empty
    "over": NAME,  # for growth and scaling: the size of the user's own that varies; else empty
}
"""One row per metric of a case, of a curve over batch sizes, of a stack over depths, or of two arms."""

INVERSIONS: Schema = {
    "reference_device": NAME,
    "reference_compiler": NAME,
    "device": NAME,
    "compiler": NAME,
    "batch_size": pl.Int64,
    "precision": NAME,
    "objective": NAME,
    "workload_a": NAME,  # label with depth and width; faster under the reference, slower here
    "workload_b": NAME,
    "before": pl.Float64,  # throughput of a over b under the reference, above 1, with its 95 % interval
    "before_low": pl.Float64,
    "before_high": pl.Float64,
    "after": pl.Float64,  # the same here, below 1
    "after_low": pl.Float64,
    "after_high": pl.Float64,
}
"""One row per rank inversion; both intervals, the part between processes included, exclude a tie."""

MACHINES: Schema = {
    "device": NAME,
    "run": NAME,
    "key": pl.String,  # a key of machine.environment: processor, memory, torch
    "value": pl.String,
}
"""One row per run, device that it measured as, and fact about its environment; the newest run comes last."""

RECORDS: Schema = {
    **CASES,
    "started_at": pl.Float64,  # seconds since the epoch
}
"""One row per record, also of cases that were recorded again later."""

ROUNDS: Schema = {
    "iterations": pl.List(pl.Int64),  # of each round
    "elapsed_s": pl.List(pl.Float64),  # of each round
}
"""The raw rounds of a record, in a row of its own."""


def text(name: str) -> pl.Expr:
    """Return a column of `NAME` as plain text, which can be taken apart."""
    return pl.col(name).cast(pl.String)
