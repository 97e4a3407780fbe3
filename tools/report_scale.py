"""Measure the cost of a report of many records: seconds and peak memory of each stage.

    python tools/report_scale.py [--records=10000] [--rounds=30] [--stages=read,study,tables,records,page]
    python tools/report_scale.py --records=1000000 --stages=metrics
    python tools/report_scale.py --records=1000000 --stages=gate --stores=/var/tmp/stores

Makes a synthetic store of that size and one of a tenth of it, and works on each in a fresh process. `study` includes
reading, run by run. The last column is the slope between the two sizes in logarithms: 1 is in proportion to the
records, 2 to their square.

`--nights` makes a store of nights, as `--ngraph-history` does: 8,000 records each, of the same cases on twenty devices.
Then `gate` judges the last night against the five before it, and `resume` goes on with the last night.

With `--unkept`, the rows that sessions keep for reports are removed first: those of earlier versions kept none.

Other stages are used alone: `metrics` takes cells in memory, without a store. `outline` makes the outlines of all runs,
as sessions do while they write; `gate` and `resume` find them there. `gate` judges each run against itself as a stored
baseline. `resume` checks of every case that the tests of a run ask for whether its record is still valid.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from synthetic_store import DEVICES, SETTINGS, TARGET, cases, median_s, plan, write

from pytest_ngraph import store
from pytest_ngraph.case import Case
from pytest_ngraph.gate import Rule
from pytest_ngraph.gate.stored.whole_run import WholeRun
from pytest_ngraph.machine.standing import would_follow_from
from pytest_ngraph.metrics.cells import READINGS, Cells
from pytest_ngraph.metrics.compute import columns_of
from pytest_ngraph.report import study
from pytest_ngraph.session import resume
from pytest_ngraph.session.options import ResumeOptions
from pytest_ngraph.store import SUFFIX
from pytest_ngraph.store.outline import forget, rows_path

KEPT = 5
"""Nights of a baseline."""
STAGES = ("read", "study", "tables", "records", "page")
METRICS, OUTLINE, GATE, RESUME = "metrics", "outline", "gate", "resume"
WRITE = "write"
ALONE = (METRICS, OUTLINE, GATE, RESUME)
"""Stages that a process does alone."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--stages", default=",".join(STAGES), help="each, except the first two, needs those before it")
    parser.add_argument("--nights", action="store_true", help="a store of nights, each with the same cases")
    parser.add_argument("--unkept", action="store_true", help="remove the rows that sessions kept for reports first")
    parser.add_argument("--here", action="store_true", help="work in this process, and print the costs as JSON")
    parser.add_argument(
        "--stores", type=Path, metavar="DIR", help="folder in which synthetic stores are kept, for further calls"
    )
    parsed = parser.parse_args()
    stages = parsed.stages.split(",")
    if parsed.here:
        with kept(parsed.stores) as stores:
            given = (parsed.records, parsed.rounds, stages, stores)
            print(json.dumps(costs(*given, nights=parsed.nights, unkept=parsed.unkept)))
        return
    sizes = (parsed.records // 10, parsed.records)
    with kept(parsed.stores) as stores:
        small, large = (
            in_fresh_process(count, parsed.rounds, stages, stores, nights=parsed.nights, unkept=parsed.unkept)
            for count in sizes
        )
    print(f"{'stage':10} {'records':>10} {'seconds':>10} {'peak MiB':>10} {'slope':>8}")
    for stage in stages:
        slope = math.log10(large[stage]["seconds"] / small[stage]["seconds"])
        for count, found, last in ((sizes[0], small, ""), (sizes[1], large, f"{slope:.2f}")):
            print(f"{stage:10} {count:10,} {found[stage]['seconds']:10.2f} {found[stage]['peak_mib']:10.0f} {last:>8}")


@contextmanager
def kept(folder: Path | None) -> Iterator[Path]:
    """Yield a folder for stores: this one, which is made where it is missing, or one that is removed afterwards."""
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        yield folder or Path(scratch)


def in_fresh_process(
    count: int, rounds: int, stages: list[str], stores: Path, *, nights: bool = False, unkept: bool = False
) -> dict[str, dict[str, float]]:
    """Return the cost of each stage for `count` records, whose store is in the folder `stores` or is made there."""
    command = [sys.executable, __file__, "--here", f"--records={count}", f"--rounds={rounds}", f"--stores={stores}"]
    if stages != [METRICS]:  # a process that only works on a store has not written it, which takes memory
        subprocess.check_output([*command, f"--stages={WRITE}", *(["--nights"] if nights else [])])
    flags = {"--nights": nights, "--unkept": unkept}
    options = [f"--stages={','.join(stages)}", *(flag for flag, given in flags.items() if given)]
    printed = subprocess.check_output([*command, *options], text=True)
    found: dict[str, dict[str, float]] = json.loads(printed)
    return found


def costs(
    count: int, rounds: int, stages: list[str], stores: Path, *, nights: bool = False, unkept: bool = False
) -> dict[str, dict[str, float]]:
    """Return the seconds of each stage, and the peak memory of the process until the stage's end."""
    if stages == [METRICS]:
        cells = synthetic_cells(count, rounds)
        return {METRICS: cost(lambda: columns_of(cells))}
    folder = stores / f"{'nights-' if nights else ''}{count}-{rounds}"
    if stages == [WRITE]:
        return {WRITE: cost(lambda: write(folder, count, rounds, nights=nights))}
    if stages == [OUTLINE]:
        return {OUTLINE: cost(lambda: outline_runs(folder))}
    if stages == [GATE]:
        return {GATE: cost(lambda: (judge_night if nights else judge_runs)(folder))}
    if stages == [RESUME]:
        planned = plan(count, nights=nights)
        last = {run: every for run, (_, every) in list(planned.items())[-1 if nights else 0 :]}
        return {RESUME: cost(lambda: resume_runs(folder, last))}
    if unkept:
        for name in store.run_ids(folder):
            shutil.rmtree(rows_path(folder / (name + SUFFIX)), ignore_errors=True)
    with tempfile.TemporaryDirectory() as report:
        works = dict(zip(STAGES, Report(folder, Path(report)).stages(), strict=True))
        return {stage: cost(works[stage]) for stage in stages}


class Report:
    """A report of a store, made stage by stage. Later stages use the results of earlier ones."""

    def __init__(self, store_folder: Path, folder: Path) -> None:
        self._store = store_folder
        self._folder = folder
        self._study: Any = None
        self._tables: Any = None

    def stages(self) -> Iterator[Callable[[], object]]:
        """Yield the functions of `STAGES`, in the same order."""
        study.check(self._folder)
        yield from (self._read, self._make_study, self._write_tables, self._write_records, self._write_page)

    def _runs(self) -> Iterator[store.Outline]:
        return (store.outlined(self._store, run) for run in store.run_ids(self._store))

    def _read(self) -> None:
        for run in self._runs():
            for _ in run.records():
                pass

    def _make_study(self) -> None:
        from pytest_ngraph.report.study.data import Study

        self._study = Study.of(self._runs())

    def _write_tables(self) -> None:
        from pytest_ngraph.report.study.tables import TABLES
        from pytest_ngraph.report.study.tables.files import write

        self._tables = [make(self._study) for make in TABLES.values()]
        write(self._tables, self._folder / study.TABLES)

    def _write_records(self) -> None:
        from pytest_ngraph.report.study import records

        records.write(self._study, self._folder)

    def _write_page(self) -> None:
        from pytest_ngraph.report.study import page
        from pytest_ngraph.report.study.figures import FIGURES

        page.write(self._study, [make(self._study) for make in FIGURES.values()], self._tables, self._folder)


def outline_runs(folder: Path) -> None:
    """Make the outline of every run of a store."""
    for name in store.run_ids(folder):
        forget(folder / (name + SUFFIX))
        store.outlined(folder, name)


def judge_runs(folder: Path) -> None:
    """Judge each run of a store against itself."""
    for name in store.run_ids(folder):
        run = store.outlined(folder, name)
        judge(run, [run])


def judge_night(folder: Path) -> None:
    """Judge the last night of a store against those before it."""
    *before, last = store.run_ids(folder)
    judge(store.outlined(folder, last), [store.outlined(folder, name) for name in before[-KEPT:]])


def judge(run: store.Outline, baseline: Sequence[store.Outline]) -> None:
    """Judge all cases of a run, as `pytest-ngraph baseline compare` does."""
    found = WholeRun(run, baseline, Rule(margin=0.01, level=0.01), "the baseline")
    if None in found.names:
        raise RuntimeError(f"{found.names.count(None)} of {len(run.ids)} records without a verdict")
    for row, name in enumerate(found.names):
        if name == "regressed":
            found.verdict(row)


def resume_runs(folder: Path, planned: Mapping[str, Sequence[Case]]) -> None:
    """Check of each run, for every case that its tests ask for, whether it must be measured again."""
    for name, every in planned.items():
        resumed = resume.open_run(folder, ResumeOptions(run=name))
        assert resumed is not None
        for case in every:
            resumed.stands(case, lambda own: would_follow_from(own, TARGET, SETTINGS, ""))
        resumed.journal.close()
        if resumed.stale or len(resumed.kept) < len(every):
            raise RuntimeError(f"stale: {next(iter(resumed.stale.values()), 'no record')}")


def synthetic_cells(count: int, rounds: int) -> Cells:
    """Return the cells of such a store, without writing and reading it."""
    every = [case for device in DEVICES for case in cases(device, count // len(DEVICES))]
    medians = np.array([median_s(case) for case in every])
    samples = medians[:, None] * np.exp(np.random.default_rng(0).normal(0, 0.01, (len(every), rounds)))
    return Cells(
        cases=every,
        sessions=[""] * len(every),
        problems=[""] * len(every),
        samples=samples.ravel(),
        rounds=np.full(len(every), rounds),
        seeds=np.arange(len(every)),
        calls=[np.empty(0)] * len(every),
        readings={name: np.full(len(every), 1.0) for name in READINGS},
        costs={},
        loads={},
    )


def cost(work: Callable[[], object]) -> dict[str, float]:
    begin = time.perf_counter()
    work()
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


if __name__ == "__main__":
    main()
