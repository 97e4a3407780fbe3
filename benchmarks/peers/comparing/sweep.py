"""A sweep of real models: the share of compiling and measuring in its wall time, with a cold and with a warm cache."""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass

import markdown_output
import small_models

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.metrics.text import number
from pytest_ngraph.store import Run

TESTS = small_models.TESTS
COMPILERS = "identity,torchscript,inductor,onnxruntime,openvino,tvm"
HEADING = (
    "cache", "cases", "measured", "wall, s", "compiling or loading, s", "warming up, s", "rounds, s",
    "compiling or measuring", "the rest per case, s",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The parts of a session's seconds.

    Attributes:
        cases: number of cases that were not skipped.
        measured: number of these that were measured.
        wall_s: seconds of the whole session.
        compiling_s: seconds of compiling, or of loading from the cache.
        warming_up_s: seconds of warming up.
        rounds_s: seconds of the timed rounds.
    """

    cases: int
    measured: int
    wall_s: float
    compiling_s: float
    warming_up_s: float
    rounds_s: float

    @classmethod
    def of(cls, run: Run, wall_s: float) -> Shares:
        records = [record for record in run.records if record.outcome != "skipped"]
        return cls(
            cases=len(records),
            measured=sum(record.outcome == "measured" for record in records),
            wall_s=wall_s,
            compiling_s=sum(record.load_s or 0.0 for record in records if record.case.compiler != IDENTITY),
            warming_up_s=sum(record.warmup.elapsed_s for record in records if record.warmup),
            rounds_s=sum(each.elapsed_s for record in records for each in record.rounds),
        )

    @property
    def worth_s(self) -> float:
        """The seconds that every measurement needs: compiling, warming up and measuring, one after another."""
        return self.compiling_s + self.warming_up_s + self.rounds_s


def find(parsed: argparse.Namespace) -> str:
    """Return a row for each of two sessions. The second finds in the cache what the first compiled."""
    options = [f"--batch-size={','.join(map(str, parsed.batch_sizes))}", f"--compiler={parsed.compilers}"]
    with tempfile.TemporaryDirectory(prefix="ngraph-cache-") as cache:
        rows = [
            row(state, _session([*options, *parsed.pytest, f"--ngraph-cache={cache}"], parsed.tests))
            for state in ("cold", "warm")
        ]
    return markdown_output.table(HEADING, rows)


def row(state: str, shares: Shares) -> list[str]:
    return [
        state,
        str(shares.cases),
        str(shares.measured),
        *map(number, (shares.wall_s, shares.compiling_s, shares.warming_up_s, shares.rounds_s)),
        f"{shares.worth_s / shares.wall_s:.0%}",
        number((shares.wall_s - shares.worth_s) / shares.cases),
    ]


def _session(options: list[str], tests: list[str]) -> Shares:
    begin = time.perf_counter()
    run = small_models.measure("--device=cpu", *options, tests=tests)
    return Shares.of(run, time.perf_counter() - begin)
