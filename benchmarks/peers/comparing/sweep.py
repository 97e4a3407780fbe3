"""A sweep of real models: which share of its wall time is compiling and measuring, with a cold cache and a warm one."""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass

import small_models
import telling

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
    """Where a session's seconds went. compiling_s: or loading what the cache had. measured: of so many cases."""

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
        """Seconds without which there is no number: compiling, warming up and measuring, one after another."""
        return self.compiling_s + self.warming_up_s + self.rounds_s


def find(parsed: argparse.Namespace) -> str:
    """A row for each of two sessions, of which the second finds what the first compiled."""
    options = [f"--batch-size={','.join(map(str, parsed.batch_sizes))}", f"--compiler={parsed.compilers}"]
    with tempfile.TemporaryDirectory(prefix="ngraph-cache-") as cache:
        told = [
            row(state, _session([*options, *parsed.pytest, f"--ngraph-cache={cache}"], parsed.tests))
            for state in ("cold", "warm")
        ]
    return telling.table(HEADING, told)


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
