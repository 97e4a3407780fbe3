"""Measure the cost of a report of many records: seconds and peak memory of each stage.

    python tools/report_scale.py [--records=10000] [--rounds=30] [--stages=read,study,tables,records,page]
    python tools/report_scale.py --records=1000000 --stages=metrics

Makes a synthetic store of that size and one of a tenth of it, and works on each in a fresh process. `study` includes
reading, run by run. The last column is the slope between the two sizes in logarithms: 1 is in proportion to the
records, 2 to their square.

`--nights` makes a store of nights, as `--ngraph-history` does: 8,000 records each, of the same cases on twenty devices.
Then `gate` judges the last night against the five before it, and `resume` goes on with the last night.

Other stages are used alone: `metrics` takes cells in memory, without a store. `gate` reads each run and judges it
against itself as a stored baseline. `resume` reads each run and checks of every case whether its record is still valid.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pytest_ngraph import store
from pytest_ngraph.against.stored import StoredBase
from pytest_ngraph.artifact import Model, Target
from pytest_ngraph.case import Case
from pytest_ngraph.machine import provenance
from pytest_ngraph.machine.standing import would_follow_from
from pytest_ngraph.metrics.cells import READINGS, Cells
from pytest_ngraph.metrics.compute import columns_of
from pytest_ngraph.record import Agreement, Record
from pytest_ngraph.report import study
from pytest_ngraph.session import resume
from pytest_ngraph.session.options import ResumeOptions
from pytest_ngraph.settings import Settings
from pytest_ngraph.store import SCHEMA, SUFFIX
from pytest_ngraph.store.baselines import Baseline

DEVICES = ("xeon", "gpu", "orin")
A_NIGHT, ON_DEVICES, KEPT = 8_000, 20, 5
"""Records of a night, its devices, and the nights of a baseline."""
GAINS = {"identity": 1.0, "torchscript": 1.1, "onnxruntime": 1.3, "openvino": 1.6, "tvm": 0.9, "tensorrt": 2.0}
BATCH_SIZES = (1, 2, 4, 8, 16)
DEPTHS = range(1, 7)
STAGES = ("read", "study", "tables", "records", "page")
METRICS, GATE, RESUME = "metrics", "gate", "resume"
TARGET, SETTINGS = Target(), Settings()
"""Target and settings of every record."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--stages", default=",".join(STAGES), help="each, except the first two, needs those before it")
    parser.add_argument("--nights", action="store_true", help="a store of nights, each with the same cases")
    parser.add_argument("--here", action="store_true", help="work in this process, and print the costs as JSON")
    parsed = parser.parse_args()
    stages = parsed.stages.split(",")
    if parsed.here:
        print(json.dumps(costs(parsed.records, parsed.rounds, stages, nights=parsed.nights)))
        return
    sizes = (parsed.records // 10, parsed.records)
    small, large = (in_fresh_process(count, parsed.rounds, stages, nights=parsed.nights) for count in sizes)
    print(f"{'stage':10} {'records':>10} {'seconds':>10} {'peak MiB':>10} {'slope':>8}")
    for stage in stages:
        slope = math.log10(large[stage]["seconds"] / small[stage]["seconds"])
        for count, found, last in ((sizes[0], small, ""), (sizes[1], large, f"{slope:.2f}")):
            print(f"{stage:10} {count:10,} {found[stage]['seconds']:10.2f} {found[stage]['peak_mib']:10.0f} {last:>8}")


def in_fresh_process(
    count: int, rounds: int, stages: list[str], *, nights: bool = False
) -> dict[str, dict[str, float]]:
    """Return the cost of each stage for `count` records."""
    command = [sys.executable, __file__, "--here", f"--records={count}", f"--rounds={rounds}"]
    options = [f"--stages={','.join(stages)}", *(["--nights"] if nights else [])]
    printed = subprocess.check_output([*command, *options], text=True)
    found: dict[str, dict[str, float]] = json.loads(printed)
    return found


def costs(count: int, rounds: int, stages: list[str], *, nights: bool = False) -> dict[str, dict[str, float]]:
    """Return the seconds of each stage, and the peak memory of the process until the stage's end."""
    if stages == [METRICS]:
        cells = synthetic_cells(count, rounds)
        return {METRICS: cost(lambda: columns_of(cells))}
    with tempfile.TemporaryDirectory() as folder:
        (write_nights if nights else write_store)(Path(folder), count, rounds)
        if stages == [GATE]:
            return {GATE: cost(lambda: (judge_night if nights else judge_runs)(Path(folder)))}
        if stages == [RESUME]:
            last = store.run_ids(Path(folder))[-1:] if nights else store.run_ids(Path(folder))
            return {RESUME: cost(lambda: resume_runs(Path(folder), last))}
        works = dict(zip(STAGES, Report(Path(folder)).stages(), strict=True))
        return {stage: cost(works[stage]) for stage in stages}


class Report:
    """A report of a store, made stage by stage. Later stages use the results of earlier ones."""

    def __init__(self, store_folder: Path) -> None:
        self._store = store_folder
        self._folder = store_folder / "report"
        self._study: Any = None
        self._tables: Any = None

    def stages(self) -> Iterator[Callable[[], object]]:
        """Yield the functions of `STAGES`, in the same order."""
        study.check(self._folder)
        yield from (self._read, self._make_study, self._write_tables, self._write_records, self._write_page)

    def _runs(self) -> Iterator[store.Run]:
        return (store.read(self._store, run) for run in store.run_ids(self._store))

    def _read(self) -> None:
        for _ in self._runs():
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


def judge_runs(folder: Path) -> None:
    """Judge each run of a store against itself."""
    for name in store.run_ids(folder):
        run = store.read(folder, name)
        judge(run, Baseline(name="itself", runs=(run,)))


def judge_night(folder: Path) -> None:
    """Judge the last night of a store against those before it."""
    *before, last = store.run_ids(folder)
    runs = tuple(store.read(folder, name) for name in before[-KEPT:])
    judge(store.read(folder, last), Baseline(name="nights", runs=runs))


def judge(run: store.Run, baseline: Baseline) -> None:
    compare = StoredBase(baseline, margin=0.01, level=0.01)
    compare.expect([record.case for record in run.records])
    for record in run.records:
        compare.judge(record)
    compare.conclude()
    if len(compare.verdicts) != len(run.records):
        raise RuntimeError(f"{len(compare.verdicts)} verdicts on {len(run.records)} records")


def resume_runs(folder: Path, names: Sequence[str]) -> None:
    """Check for every case of these runs whether it must be measured again."""
    for name in names:
        resumed = resume.open_run(folder, ResumeOptions(run=name))
        assert resumed is not None
        for record in resumed.run.records:
            resumed.stands(record.case, lambda own: would_follow_from(own, TARGET, SETTINGS, ""))
        resumed.journal.close()
        if resumed.stale:
            raise RuntimeError(f"stale: {next(iter(resumed.stale.values()))}")


def synthetic_cells(count: int, rounds: int) -> Cells:
    """Return the cells of such a store, without writing and reading it."""
    every = [case for device in DEVICES for case in cases(device, count // len(DEVICES))]
    medians = np.array([median_s(case) for case in every])
    samples = medians[:, None] * np.exp(np.random.default_rng(0).normal(0, 0.01, (len(every), rounds)))
    return Cells(
        cases=every,
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


def write_store(folder: Path, count: int, rounds: int) -> None:
    """Write a store of `count` records, with a run for each device."""
    for number, device in enumerate(DEVICES):
        write_run(folder, f"2026010{number}-000000-1", [device], cases(device, count // len(DEVICES)), rounds)


def write_nights(folder: Path, count: int, rounds: int) -> None:
    """Write a store of `count` records in nights, each with the same cases on every device: two nights or more."""
    devices = [f"device{number}" for number in range(ON_DEVICES)]
    nights = max(2, count // A_NIGHT)
    every = [case for device in devices for case in cases(device, count // nights // ON_DEVICES)]
    for night in range(nights):
        write_run(folder, f"{20260000 + night:08}-000000-1", devices, every, rounds, night)


def write_run(
    folder: Path, run: str, devices: Sequence[str], every: Iterable[Case], rounds: int, number: int = 0
) -> None:
    """Write a run of these cases; `number` makes its times other than those of another run."""
    random = np.random.default_rng(number)
    template = Record(
        case=Case(workload="", compiler="identity", batch_size=1),
        outcome="measured",
        stable=True,
        agreement=Agreement(error=1e-6, tolerance=1e-4),
        cpu_percent=50.0,
        worker_memory_bytes=2**30,
        model=Model(parameters=10_000_000, mult_adds=10**9, flops=2 * 10**9),
    ).to_dict()
    with (folder / (run + SUFFIX)).open("w") as file:
        environment = {"processor": devices[0], "fingerprint": devices[0]}
        lines: list[dict[str, Any]] = [{"schema": SCHEMA, "run": run, "environment": environment}]
        lines += [{"device": each, "environment": environment | {"fingerprint": each}} for each in devices[1:]]
        file.writelines(json.dumps(line) + "\n" for line in lines)
        for case in every:
            seconds = median_s(case) * np.exp(random.normal(0, 0.01, rounds))
            data = {
                "case": case.to_dict(),
                "run": run,
                "started_at": float(number),
                "rounds": [[1, elapsed] for elapsed in seconds.tolist()],
                "compile_s": None if case.compiler == "identity" else 5.0,
                "follows_from": provenance.of_measuring(case, TARGET, SETTINGS, graph="program", files={}),
            }
            file.write(json.dumps({**template, **data}) + "\n")
        file.write(json.dumps({"ended": "whole"}) + "\n")


def cases(device: str, count: int) -> Iterator[Case]:
    """Yield `count` cases, alternately of a model and of a block of some width at six depths."""
    made = 0
    number = 0
    while made < count:
        number += 1
        sizes = [(None, None)] if number % 2 else [(depth, number) for depth in DEPTHS]
        for depth, width in sizes:
            for compiler in GAINS:
                for batch_size in BATCH_SIZES:
                    if made == count:
                        return
                    made += 1
                    yield Case(
                        workload="conv" if depth else f"nets:n{number}",
                        compiler=compiler,
                        batch_size=batch_size,
                        depth=depth,
                        width=width,
                        device=device,
                    )


def median_s(case: Case) -> float:
    """Return seconds per iteration: more for deeper blocks and larger batches, less under a better compiler."""
    return float(0.001 * (case.depth or 5) * case.batch_size**0.8 / GAINS[case.compiler])


if __name__ == "__main__":
    main()
