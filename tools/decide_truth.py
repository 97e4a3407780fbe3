"""Print whether `pytest-ngraph advise` picks what an exhaustive sweep finds, and in what share of its time.

    python tools/decide_truth.py [WORKLOAD ...] [--runs=3] [--compiler=identity,openvino] [--batch-size=1,8] [--busy]
        [--kept=FILE]

For each workload, all compilers with all the options that they name as worth trying are measured at all batch sizes,
as precisely as the default goal asks, in two sweeps. Then the race is run several times, each in a store of its own.
The first sweep compiles everything, so that the second one and the races find it in the cache: their times are of
measuring. Only the single calls and costs to serve of the pick and who comes next are extra work of the race.

Two processes of the same code differ, and a machine that others use changes from one minute to the next. So what a race
picked, and what is nearly the fastest by the sweeps, is measured again in turn, in new processes each time: the means
of these finals are the truth.

- fastest, picks: by the finals, and by each race.
- behind: by how much more time the pick takes than the fastest of the finals, by these; the worst of the runs.
- sure, wrong: how often the pick was called sure, and how often it was sure and more than 2 % behind.
- sweep, race, share: seconds of each, of races the median, and theirs over those of the sweep.
- CPU: the same share of the seconds that processors worked, which other work on the machine changes less.

With `--busy`, a process keeps one core busy while the race runs; sweeps and finals have the machine to themselves.

With `--kept`, each sweep, race and final is a line of that file as soon as it is over, and is printed. The same command
goes on where it was interrupted, with `--busy` beside the sweeps that are there. `--parts=2` ends after two more of
them, and `--parts=0` prints the table of what is there. So one workload can be measured at a time, in one file:

    python tools/decide_truth.py conv --kept=truth.jsonl
    python tools/decide_truth.py mha --kept=truth.jsonl
    python tools/decide_truth.py --kept=truth.jsonl --parts=0
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from typing import NamedTuple

from decide_trials.kept import Kept
from markdown_output import table

from pytest_ngraph.advise.answer import answer
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
FINALS = 5
NEARLY = 0.08
"""By how much more time than the fastest of the sweeps a candidate of the finals may take that no race picked."""
BURN = "while True: pass"
HEADING = ("workload", "candidates", "fastest", "picks", "behind", "sure", "wrong", "sweep", "race", "share", "CPU")


class Sweep(NamedTuple):
    """Candidates, measured in turn.

    Attributes:
        sample_s: the seconds per sample of each that can be measured.
        seconds: that all took.
        cpu_s: seconds of processors that all took; 0 where that is not known.
    """

    sample_s: Mapping[str, float]
    seconds: float
    cpu_s: float = 0.0


class Run(NamedTuple):
    """One race beside the sweep.

    Attributes:
        pick: the candidate that it picked; None for none.
        cpu_s: seconds of processors that it took; 0 where that is not known.
    """

    pick: str | None
    is_sure: bool
    seconds: float
    cpu_s: float = 0.0

    def behind(self, truth: Mapping[str, float]) -> float:
        """Return by how much more time the pick takes than the fastest; infinite without a pick."""
        return truth.get(self.pick, float("inf")) / min(truth.values()) - 1 if self.pick else float("inf")


class Trial(NamedTuple):
    """What was found of a workload.

    Attributes:
        sweep: of all candidates, with the time that it took.
        truth: the seconds per sample of the finalists.
        runs: the races.
    """

    workload: str
    sweep: Sweep
    truth: Mapping[str, float]
    runs: Sequence[Run]

    def is_wrong(self, run: Run) -> bool:
        """Return whether a race was sure of what is not the fastest."""
        return run.is_sure and run.behind(self.truth) > WRONG


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=SMALL, metavar="WORKLOAD", help=f"default: {', '.join(SMALL)}")
    parser.add_argument("--runs", type=int, default=3, help="races of each workload; default: 3")
    parser.add_argument("--compiler", metavar="NAME[,NAME...]", help="default: all that are installed")
    parser.add_argument("--budget", type=float, default=300.0, help="seconds of a race; default: 300")
    parser.add_argument("--batch-size", type=_numbers, default=(1,), metavar="N[,N...]", help="default: 1")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="keep results there, and go on with those there are")
    parser.add_argument("--parts", type=int, default=sys.maxsize, help="end after so many further sweeps and races")
    parser.add_argument("--busy", action="store_true", help="keep one core busy while the race runs")
    parsed = parser.parse_args()
    compilers = split_compilers(parsed.compiler) if parsed.compiler else list(installed("cpu", "latency"))
    kept = Kept(parsed.kept, parsed.parts)
    tried = (trial(workload, compilers, parsed, kept) for workload in parsed.workloads)
    found = [each for each in tried if each]
    print(table(HEADING, [row(each) for each in found]))
    print(*summary(found), sep="\n")


def trial(workload: str, compilers: Sequence[str], parsed: argparse.Namespace, kept: Kept) -> Trial | None:
    """Try a workload; None where some of it is still to be measured."""
    axes = axes_of(workload, compilers, parsed.batch_size)
    what = (workload, f"b{','.join(map(str, parsed.batch_size))}", ",".join(compilers))
    filled = kept.get(partial(swept, axes), "filling the cache", *what)
    sweep = kept.get(partial(swept, axes), "sweep", *what) if filled else None
    if filled is None or sweep is None:
        return None
    race, place = partial(raced, axes, parsed.budget, is_busy=parsed.busy), "busy" if parsed.busy else "quiet"
    found = [kept.get(race, "race", n, place, f"{parsed.budget:g}s", *what) for n in range(parsed.runs)]
    runs = [Run(*each) for each in found if each]
    if len(runs) < parsed.runs:
        return None
    sweeps = [Sweep(*sweep), Sweep(*filled)]
    names = finalists(sweeps, runs)
    final = partial(swept, axes, names)
    finals = [kept.get(final, "final", n, *names, *what) for n in range(FINALS)]
    measured = [Sweep(*each) for each in finals if each]
    return Trial(workload, sweeps[0], mean(measured), runs) if len(measured) == FINALS else None


def finalists(sweeps: Sequence[Sweep], runs: Sequence[Run]) -> list[str]:
    """Return the candidates that a race picked, or that are nearly the fastest by the sweeps."""
    found, picked = mean(sweeps), {run.pick for run in runs}
    most_s = min(found.values()) * (1 + NEARLY)
    return sorted(name for name, seconds in found.items() if name in picked or seconds <= most_s)


def mean(sweeps: Sequence[Sweep]) -> dict[str, float]:
    """Return the geometric mean of the seconds per sample of each candidate that all of these sweeps measured."""
    names = [name for name in sweeps[0].sample_s if all(name in sweep.sample_s for sweep in sweeps)]
    return {name: geometric_mean(sweep.sample_s[name] for sweep in sweeps) for name in names}


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def axes_of(workload: str, compilers: Sequence[str], batch_sizes: Sequence[int]) -> Axes:
    """Return what there is to choose from: compilers, their options and batch sizes."""
    sizes = BLOCK if workload in ("conv", "mha") else {}
    return Axes(
        case=Case(workload=workload, compiler="identity", batch_size=batch_sizes[0], **sizes),  # type: ignore[arg-type]
        compilers=compilers,
        batch_sizes=batch_sizes,
        precisions=("fp32",),
        devices=(BUILT_IN["cpu"],),
        objective="latency",
    )


def swept(axes: Axes, names: Container[str] | None = None) -> Sweep:
    """Measure the candidates with these names; every one where none are given."""
    texts = [text for name in axes.compilers for text in (name, *axes.options_of(name))]
    every = [[replace(cell, compiler=text) for text in texts] for cell in axes.cells]
    groups = [[case for case in cases if names is None or name_of(case) in names] for cases in every]
    watch = Watch()
    settings = Settings(cache=compiled_folder()).on_machine(this_machine().memory_bytes)
    with closing(Bench(settings, BUILT_IN["cpu"].target)) as bench:
        records = [
            record for cases in filter(None, groups) for record in bench.run(cases) if record.outcome == "measured"
        ]
    return Sweep({name_of(record.case): 1 / record.throughput for record in records}, *watch.took())


def raced(axes: Axes, budget_s: float, *, is_busy: bool) -> Run:
    """Run one race in a store of its own."""
    settings = Settings(cache=compiled_folder())
    watch = Watch()
    with (
        tempfile.TemporaryDirectory() as store,
        burning() if is_busy else nullcontext(),
        measuring(Path(store), settings, axes.devices, IN_GENERAL, Silent(), axes.case.workload) as measure,
    ):
        race = Race(axes, Limits(), measure, budget_s)
        found = answer(race.run(), race.named, Limits(), IN_GENERAL, indifference=Settings().indifference)
    return Run(name_of(found.pick.case) if found.pick else None, found.is_sure, *watch.took())


class Watch:
    """Knows how long something takes whose processes have ended by then."""

    def __init__(self) -> None:
        self._began = self._now()

    def took(self) -> tuple[float, float]:
        """Return the seconds since it was made: by the clock, and of the processors."""
        (seconds, cpu_s), (began, began_cpu_s) = self._now(), self._began
        return seconds - began, cpu_s - began_cpu_s

    def _now(self) -> tuple[float, float]:
        used = os.times()
        return time.monotonic(), used.user + used.system + used.children_user + used.children_system


def name_of(case: Case) -> str:
    """Return how a candidate is called here."""
    return f"{case.compiler} b{case.batch_size}"


@contextmanager
def burning() -> Iterator[None]:
    """Keep one core busy."""
    with subprocess.Popen([sys.executable, "-c", BURN]) as busy:
        try:
            yield
        finally:
            busy.kill()


def row(of: Trial) -> list[str]:
    """Return the row of a workload."""
    sweep, truth, runs = of.sweep, of.truth, of.runs
    picks = [run.pick or "none" for run in runs]
    race_s, race_cpu_s = median(run.seconds for run in runs), median(run.cpu_s for run in runs)
    return [
        of.workload,
        str(len(sweep.sample_s)),
        min(truth, key=lambda name: truth[name]),
        ", ".join(dict.fromkeys(picks)),
        f"{max(run.behind(truth) for run in runs):.1%}",
        f"{sum(run.is_sure for run in runs)} of {len(runs)}",
        str(sum(map(of.is_wrong, runs))),
        f"{sweep.seconds:.0f} s",
        f"{race_s:.0f} s",
        f"{race_s / sweep.seconds:.0%}",
        f"{race_cpu_s / sweep.cpu_s:.0%}" if race_cpu_s and sweep.cpu_s else "",
    ]


def summary(found: Sequence[Trial]) -> Iterator[str]:
    """Yield what all workloads together show, a line each."""
    runs = [(run, of) for of in found for run in of.runs]
    if not runs:
        yield "No race yet."
        return
    close = sum(run.behind(of.truth) <= WRONG for run, of in runs)
    yield f"Within {WRONG:.0%} of the fastest: {close} of {len(runs)} races."
    yield f"Sure and not within it: {sum(of.is_wrong(run) for run, of in runs)}."
    share = sum(run.seconds for run, _ in runs) / sum(of.sweep.seconds for _, of in runs)
    yield f"The races took {share:.0%} of the time of as many sweeps."


if __name__ == "__main__":
    main()
