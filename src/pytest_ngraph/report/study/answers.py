"""What to deploy for each workload of a study, from its frame of cases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import polars as pl

from pytest_ngraph.case import SERVING
from pytest_ngraph.metrics.load import MAX_RATE
from pytest_ngraph.report.answers import Answer, Candidate, answers
from pytest_ngraph.report.study.columns import SCOPE
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures.rows import NETWORK as NETWORK_NAME
from pytest_ngraph.report.study.figures.rows import PLACE, in_order
from pytest_ngraph.report.study.sure import measured_as_a_whole, throughput

NETWORK = ("device", "network", "precision")
"""What the cases from which one is chosen have in common, whatever their objective."""
CANDIDATE = (
    *("compiler", "batch_size", "objective", "session"),
    *("throughput", "throughput_low", "throughput_high", "steepness"),
)
SHOWN = (
    "latency_s", "throughput", "stable", "compile_s", "cold_start_s", "worker_memory_bytes", "device_memory_bytes",
    "serving_memory_bytes", "artifact_bytes", "install_bytes", "agreement_error",
)  # fmt: skip
"""What is shown of the best case."""


class Answered(NamedTuple):
    """An answer, whose candidates are known by the numbers of their rows.

    Attributes:
        of: the row of the best case: its scope, the columns `SHOWN`, `place` and `network`.
    """

    answer: Answer[int]
    of: dict[str, Any]


_KNOWN: WeakKeyDictionary[Study, list[Answered]] = WeakKeyDictionary()
"""The answers, which a table and the page show."""


def answered(study: Study) -> list[Answered]:
    """Return the answers for each workload, device and precision, in the order of the figures.

    A workload has none if a gate left out some of its cases: which is the fastest is then not known.
    """
    if study not in _KNOWN:
        _KNOWN[study] = _answered(study)
    return _KNOWN[study]


def _answered(study: Study) -> list[Answered]:
    judged = _judged(study).with_row_index("of")
    wanted = ("of", "device", "precision", *CANDIDATE, "outcome", "reason", "undeployable")
    narrow = judged.select(*wanted, NETWORK_NAME.alias("network"))
    whole = measured_as_a_whole(in_order(study, narrow), NETWORK).drop("outcome", "reason")
    del narrow
    rows = whole.filter(pl.col("throughput") > 0, pl.col("undeployable") == "")
    found = [answer for group in _candidates(rows) for answer in answers(group, study.between)]
    best = judged.select(*SCOPE, *SHOWN)[rows["of"][[answer.best.of for answer in found]]]
    best = best.with_columns(place=PLACE, network=NETWORK_NAME)
    return list(map(Answered, found, best.iter_rows(named=True)))


def _judged(study: Study) -> pl.DataFrame:
    """Return the cases; as the throughput of those under load, their highest rate, and how steep it is."""
    cases = study.cases.with_columns(steepness=pl.lit(1.0))
    if MAX_RATE not in study.by_case or SERVING not in cases["objective"]:
        return cases
    known = study.by_case[MAX_RATE].steepness
    rates = study.metric(MAX_RATE).select("value", "low", "high")
    steepness = pl.Series("steepness", [known.get(row, 1.0) for row in range(cases.height)], pl.Float64)
    found = zip(CANDIDATE[-4:], [*rates.iter_columns(), steepness], strict=True)
    is_under_load = pl.col("objective") == SERVING
    return cases.with_columns(pl.when(is_under_load).then(each).otherwise(name).alias(name) for name, each in found)


def _may_be_shown() -> pl.Expr:
    """Return which rows may be in an answer: those at the smallest batch, and the fastest of each compiler.

    A row at the smallest batch of its objective may be at the smallest of those that were measured one call at a time.
    """
    is_under_load = pl.col("objective") == SERVING
    highest = pl.col("throughput").max().over("group", "compiler", is_under_load)
    smallest = pl.col("batch_size").min().over("group", "objective")
    return (pl.col("throughput") == highest) | (pl.col("batch_size") == smallest)


def _candidates(rows: pl.DataFrame) -> Iterator[list[Candidate[int]]]:
    """Yield the candidates of one network after another: as objects, those of all would take gigabytes."""
    numbered = rows.with_row_index("row").with_columns(group=pl.col("row").min().over(NETWORK)).filter(_may_be_shown())
    numbered = numbered.select(*CANDIDATE, "row", "group").sort("group", maintain_order=True)
    for _, group in groupby(numbered.iter_rows(named=True), key=lambda row: row["group"]):
        yield [
            Candidate(
                row["compiler"],
                row["batch_size"],
                row["objective"],
                throughput(row),
                row["row"],
                row["steepness"],
                row["session"],
            )
            for row in group
        ]
