"""The compiler to deploy for each workload and device."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.answers import answered
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.sure import pair_in_words
from pytest_ngraph.report.study.tables.table import NETWORK, Table

SHOWN_COSTS = ("cold_start_s", "serving_memory_bytes", "artifact_bytes", "install_bytes")
CHOSEN = ("compiler", "batch_size", "objective", "latency_s", "throughput")


def deploy(study: Study) -> Table:
    case, choices = [*NETWORK, "compiler", "batch_size"], _choices(study)
    speedups = study.values("speedup", *case).rename({"value": "speedup"})
    own = speedups.join(choices, on=case, how="semi", nulls_equal=True)
    rows = choices.join(own, on=case, how="left", nulls_equal=True, maintain_order="left")
    return Table.of(
        "deploy",
        "Which should I deploy?",
        "For each workload and device the compiler with the lowest latency at the smallest batch size, and the "
        "compiler and batch size with the highest throughput, among cases whose outputs agree with eager PyTorch; of "
        "cases under load, the one with the highest rate that keeps the limit, in place of the throughput. What cannot "
        "be deployed is left out. "
        "Sure: it would also be faster than every other compiler's best in other processes; at most 5 in 100 rows that "
        "are called so are wrong. A workload of which a gate left out cases as unchanged has no row. Processes of the "
        f"same code differ by {pair_in_words(study.between)}. Cold start, serving memory, artifact and install: of a "
        "process that only serves, where --ngraph-serving was given.",
        rows.sort("device", "goal", "label", "depth", "width", "sizes"),
        missing="needs a measured case, and none of its workload left out as unchanged",
    )


def _choices(study: Study) -> pl.DataFrame:
    """Return a row for each network and goal: the best case, and the best of another compiler."""
    kinds = dict(study.cases.schema) | {"goal": pl.String(), "runner_up": pl.String(), "sure": pl.Boolean()}
    found = [
        of
        | {
            "goal": answer.goal,
            "latency_s": answer.best.latency_s,
            "runner_up": answer.runner_up.compiler if answer.runner_up else None,
            "sure": answer.is_sure,
        }
        for answer, of in answered(study)
    ]
    network = [name for name in NETWORK if name not in ("device", "objective")]
    last = ("runner_up", "sure", "stable", "compile_s", "worker_memory_bytes", *SHOWN_COSTS, "agreement_error")
    return pl.DataFrame(found, schema=kinds).select("device", "goal", *network, *CHOSEN, *last)
