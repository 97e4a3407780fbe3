"""Print whether `pytest-ngraph advise` picks what an exhaustive sweep finds, and in what share of its time.

    python tools/decide_truth.py [WORKLOAD ...] [--runs=3] [--compiler=identity,openvino] [--busy]

For each workload, all compilers with all the options that they name as worth trying are measured at once, as precisely
as the default goal asks: that is the truth. Then the race is run several times, each in a store of its own. A sweep
that is not shown comes first and compiles everything, so that both find it in the cache: their times are of measuring.
Only what limits would ask for, the single calls and costs to serve of the leaders, is extra work of the race.

- behind: by how much more time the pick takes than the fastest of the sweep, by the sweep; the worst of the runs.
- sure, wrong: how often the pick was called sure, and how often it was sure and more than 2 % behind.
- share: seconds of the race over seconds of the sweep, the median.

With `--busy`, a process keeps one core busy while the race runs; the sweep has the machine to itself.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import NamedTuple

from markdown_output import table

from pytest_ngraph.advise.answer import Answer, answer
from pytest_ngraph.advise.candidates import Axes, installed
from pytest_ngraph.advise.limits import Limits
from pytest_ngraph.advise.measuring import measuring
from pytest_ngraph.advise.race import Race
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.case import Case, split_compilers
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.metrics.between import IN_GENERAL
from pytest_ngraph.settings import Settings
from pytest_ngraph.system.files import compiled_folder

SMALL = ("conv", "mha", "resnet18", "mobilenetv3_small_100", "efficientnet_b0", "deit3_small_patch16_224",
         "convnext_atto")  # fmt: skip
"""The study's blocks and five small models."""
BLOCK = {"depth": 2, "width": 64}
WRONG = 0.02
BURN = "while True: pass"
HEADING = ("workload", "candidates", "fastest", "picks", "behind", "sure", "wrong", "sweep", "race", "share")


class Run(NamedTuple):
    """One race beside the sweep."""

    found: Answer
    seconds: float

    def behind(self, truth: dict[str, float]) -> float:
        """Return by how much more time the pick takes than the fastest; infinite without a pick."""
        if self.found.pick is None:
            return float("inf")
        return truth[self.found.pick.case.compiler] / min(truth.values()) - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=SMALL, metavar="WORKLOAD", help=f"default: {', '.join(SMALL)}")
    parser.add_argument("--runs", type=int, default=3, help="races of each workload; default: 3")
    parser.add_argument("--compiler", metavar="NAME[,NAME...]", help="default: all that are installed")
    parser.add_argument("--budget", type=float, default=300.0, help="seconds of a race; default: 300")
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--busy", action="store_true", help="keep one core busy while the race runs")
    parsed = parser.parse_args()
    compilers = split_compilers(parsed.compiler) if parsed.compiler else list(installed("cpu", "latency"))
    rows = []
    for workload in parsed.workloads:
        axes = axes_of(workload, compilers, parsed.batch_size)
        swept(axes)
        truth, sweep_s = swept(axes)
        runs = [raced(axes, parsed.budget, is_busy=parsed.busy) for _ in range(parsed.runs)]
        rows.append(row(workload, truth, sweep_s, runs))
    print(table(HEADING, rows))


def axes_of(workload: str, compilers: Sequence[str], batch_size: int) -> Axes:
    """Return the axes of one cell: compilers and their options only."""
    sizes = BLOCK if workload in ("conv", "mha") else {}
    return Axes(
        case=Case(workload=workload, compiler="identity", batch_size=batch_size, **sizes),  # type: ignore[arg-type]
        compilers=compilers,
        batch_sizes=(batch_size,),
        precisions=("fp32",),
        devices=(BUILT_IN["cpu"],),
        objective="latency",
    )


def swept(axes: Axes) -> tuple[dict[str, float], float]:
    """Return the seconds per sample of every candidate that can be measured, and the seconds that all took."""
    (cell,) = axes.cells
    texts = [text for name in axes.compilers for text in (name, *axes.options_of(name))]
    cases = [replace(cell, compiler=text) for text in texts]
    started = time.monotonic()
    settings = Settings(cache=compiled_folder()).on_machine(this_machine().memory_bytes)
    with closing(Bench(settings, BUILT_IN["cpu"].target)) as bench:
        records = [record for record in bench.run(cases) if record.outcome == "measured"]
    return {record.case.compiler: 1 / record.throughput for record in records}, time.monotonic() - started


def raced(axes: Axes, budget_s: float, *, is_busy: bool) -> Run:
    """Run one race in a store of its own."""
    settings = Settings(cache=compiled_folder())
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as store,
        burning() if is_busy else nullcontext(),
        measuring(Path(store), settings, axes.devices, IN_GENERAL, Silent()) as measure,
    ):
        race = Race(axes, Limits(), measure, budget_s)
        found = answer(race.run(), race.named, Limits(), IN_GENERAL)
    return Run(found, time.monotonic() - started)


@contextmanager
def burning() -> Iterator[None]:
    """Keep one core busy."""
    with subprocess.Popen([sys.executable, "-c", BURN]) as busy:
        try:
            yield
        finally:
            busy.kill()


def row(workload: str, truth: dict[str, float], sweep_s: float, runs: Sequence[Run]) -> list[str]:
    """Return the row of a workload."""
    picks = [run.found.pick.case.compiler if run.found.pick else "none" for run in runs]
    wrong = sum(run.found.is_sure and run.behind(truth) > WRONG for run in runs)
    race_s = median(run.seconds for run in runs)
    return [
        workload,
        str(len(truth)),
        min(truth, key=lambda compiler: truth[compiler]),
        ", ".join(dict.fromkeys(picks)),
        f"{max(run.behind(truth) for run in runs):.1%}",
        f"{sum(run.found.is_sure for run in runs)} of {len(runs)}",
        str(wrong),
        f"{sweep_s:.0f} s",
        f"{race_s:.0f} s",
        f"{race_s / sweep_s:.0%}",
    ]


if __name__ == "__main__":
    main()
