"""Print whether `pytest-ngraph advise` picks what an exhaustive sweep finds, and in what share of its time.

    python tools/decide_truth.py [WORKLOAD ...] [--runs=3] [--compiler=identity,openvino] [--batch-size=1,8] [--busy]
        [--kept=FILE]

For each workload, all compilers with all the options that they name as worth trying are measured at all batch sizes,
as precisely as the default goal asks, in two sweeps: the means of both are the truth, as two processes of the same code
differ. Then the race is run several times, each in a store of its own. The first sweep compiles everything, so that the
second one and the races find it in the cache: their times are of measuring. Only the single calls and costs to serve of
the pick and who comes next are extra work of the race.

- fastest, picks: by the sweep, and by each race.
- behind: by how much more time the pick takes than the fastest of the sweeps, by these; the worst of the runs.
- sure, wrong: how often the pick was called sure, and how often it was sure and more than 2 % behind.
- sweep, race, share: seconds of each, of races the median, and theirs over those of the sweep.
- CPU: the same share of the seconds that processors worked, which other work on the machine changes less.

With `--busy`, a process keeps one core busy while the race runs; the sweep has the machine to itself.

With `--kept`, each sweep and each race is a line of that file as soon as it is over, and is printed. The same command
goes on where it was interrupted, with `--busy` beside the sweeps that are there. `--parts=2` ends after two more sweeps
or races, and `--parts=0` prints the table of what is there. So one workload can be measured at a time, in one file:

    python tools/decide_truth.py conv --kept=truth.jsonl
    python tools/decide_truth.py mha --kept=truth.jsonl
    python tools/decide_truth.py --kept=truth.jsonl --parts=0
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

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
BURN = "while True: pass"
HEADING = ("workload", "candidates", "fastest", "picks", "behind", "sure", "wrong", "sweep", "race", "share", "CPU")


class Sweep(NamedTuple):
    """All candidates, measured.

    Attributes:
        truth: the seconds per sample of each that can be measured.
        seconds: that all took.
        cpu_s: seconds of processors that all took; 0 where that is not known.
    """

    truth: Mapping[str, float]
    seconds: float
    cpu_s: float = 0.0

    def averaged(self, other: Sweep) -> Sweep:
        """Return this sweep with the geometric means of both: two processes of the same code differ."""
        truth = {name: (own * other.truth.get(name, own)) ** 0.5 for name, own in self.truth.items()}
        return self._replace(truth=truth)


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


class Kept:
    """Results by their names, each a line of a file once it is there.

    Args:
        file: None to keep them only in memory.
        parts: how many further results to make.
    """

    def __init__(self, file: Path | None = None, parts: float = float("inf")) -> None:
        self._file = file
        self._left = parts
        lines = file.read_text().splitlines(keepends=True) if file and file.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        if file and whole != lines:  # the last one was cut off
            file.write_text("".join(whole))
        self._found: dict[str, Any] = {one["name"]: one["result"] for one in map(json.loads, whole)}

    def get(self, make: Callable[[], Sequence[Any]], *names: object) -> Sequence[Any] | None:
        """Return a result, made now if it is not there; None where no further one is to be made."""
        name = " ".join(map(str, names))
        if name not in self._found:
            if self._left <= 0:
                return None
            self._left -= 1
            self._found[name] = list(make())
            print(f"{name}: {json.dumps(self._found[name])}", file=sys.stderr, flush=True)
            if self._file:
                with self._file.open("a") as file:
                    file.write(json.dumps({"name": name, "result": self._found[name]}) + "\n")
        found: Sequence[Any] = self._found[name]
        return found


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
    found = []
    for workload in parsed.workloads:
        axes = axes_of(workload, compilers, parsed.batch_size)
        what = (workload, f"b{','.join(map(str, parsed.batch_size))}", ",".join(compilers))
        filled = kept.get(partial(swept, axes), "filling the cache", *what)
        sweep = kept.get(partial(swept, axes), "sweep", *what) if filled else None
        if filled is None or sweep is None:
            continue
        race, place = partial(raced, axes, parsed.budget, is_busy=parsed.busy), "busy" if parsed.busy else "quiet"
        names = [("race", number, place, f"{parsed.budget:g}s", *what) for number in range(parsed.runs)]
        runs = [Run(*result) for name in names if (result := kept.get(race, *name))]
        if runs:
            found.append((workload, Sweep(*sweep).averaged(Sweep(*filled)), runs))
    print(table(HEADING, [row(*each) for each in found]))
    print(*summary(found), sep="\n")


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


def swept(axes: Axes) -> Sweep:
    """Measure every candidate."""
    texts = [text for name in axes.compilers for text in (name, *axes.options_of(name))]
    groups = [[replace(cell, compiler=text) for text in texts] for cell in axes.cells]
    watch = Watch()
    settings = Settings(cache=compiled_folder()).on_machine(this_machine().memory_bytes)
    with closing(Bench(settings, BUILT_IN["cpu"].target)) as bench:
        records = [record for cases in groups for record in bench.run(cases) if record.outcome == "measured"]
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


def row(workload: str, sweep: Sweep, runs: Sequence[Run]) -> list[str]:
    """Return the row of a workload."""
    truth, sweep_s, sweep_cpu_s = sweep
    picks = [run.pick or "none" for run in runs]
    wrong = sum(is_wrong(run, sweep) for run in runs)
    race_s, race_cpu_s = median(run.seconds for run in runs), median(run.cpu_s for run in runs)
    return [
        workload,
        str(len(truth)),
        min(truth, key=lambda name: truth[name]),
        ", ".join(dict.fromkeys(picks)),
        f"{max(run.behind(truth) for run in runs):.1%}",
        f"{sum(run.is_sure for run in runs)} of {len(runs)}",
        str(wrong),
        f"{sweep_s:.0f} s",
        f"{race_s:.0f} s",
        f"{race_s / sweep_s:.0%}",
        f"{race_cpu_s / sweep_cpu_s:.0%}" if race_cpu_s and sweep_cpu_s else "",
    ]


def is_wrong(run: Run, sweep: Sweep) -> bool:
    """Return whether a race was sure of what is not the fastest."""
    return run.is_sure and run.behind(sweep.truth) > WRONG


def summary(found: Sequence[tuple[str, Sweep, Sequence[Run]]]) -> Iterator[str]:
    """Yield what all workloads together show, a line each."""
    runs = [(run, sweep) for _, sweep, own in found for run in own]
    if not runs:
        yield "No race yet."
        return
    close = sum(run.behind(sweep.truth) <= WRONG for run, sweep in runs)
    yield f"Within {WRONG:.0%} of the fastest: {close} of {len(runs)} races."
    yield f"Sure and not within it: {sum(is_wrong(*each) for each in runs)}."
    share = sum(run.seconds for run, _ in runs) / sum(sweep.seconds for _, sweep in runs)
    yield f"The races took {share:.0%} of the time of as many sweeps."


if __name__ == "__main__":
    main()
