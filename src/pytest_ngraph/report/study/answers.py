"""What to deploy for each workload of a study, from its frame of cases."""

from __future__ import annotations

from typing import Any

import polars as pl

from pytest_ngraph.report.answers import Answer, Candidate, answers
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures.rows import named
from pytest_ngraph.report.study.sure import throughput

NETWORK = ("device", "network", "precision")
"""What all cases have in common from which one is chosen, whatever their objective."""


def answered(study: Study) -> list[Answer[dict[str, Any]]]:
    """Return the answers for each workload, device and precision, in the order of the figures.

    A candidate's `of` is its row of `Study.cases`, with the columns `place` and `network`.
    """
    groups: dict[tuple[str, ...], list[Candidate[dict[str, Any]]]] = {}
    for row in named(study.measured.filter(pl.col("throughput").is_not_null())).iter_rows(named=True):
        candidate = Candidate(row["compiler"], row["batch_size"], row["objective"], throughput(row), row)
        groups.setdefault(tuple(row[name] for name in NETWORK), []).append(candidate)
    return [answer for group in groups.values() for answer in answers(group, study.between)]
