"""Print how the load agrees with queueing theory, and with an independent load generator.

    python tools/load_truth.py queue [--requests=1000]
    python tools/load_truth.py loadgen [--workload=mobilenetv3_small_050] [--compiler=onnxruntime] [--trials=2]

`queue`: a model whose calls take constant times, and one whose calls take exponentially distributed times, under
Poisson arrivals. The mean wait by the formulas of M/D/1 and M/M/1 (Kleinrock, Queueing Systems, 1975); what it is in
simulated time, over the formula's; what it is in real time, with the process that sends requests, over that in
simulated time with the same arrivals and calls; and the difference of these two. In real time a call spins until it is
over.

`loadgen`: the highest rate whose p99 stays under the limit, as this plugin finds it, and as MLPerf's LoadGen does in
its mode FindPeakPerformance of the scenario Server (`pip install mlcommons-loadgen`), each in a process of its own, in
turn. Both call the model in their process. The model computes on one core, what sends requests has another.
"""

from __future__ import annotations

import argparse
import os
import queue
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from markdown_output import table

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.case import SERVING, Case
from pytest_ngraph.load import Simulated, schedule, serve
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.metrics import compute
from pytest_ngraph.metrics.text import in_words
from pytest_ngraph.settings import Settings
from pytest_ngraph.worker.load import Generator
from pytest_ngraph.worker.prepare import prepare
from pytest_ngraph.workloads.export import export

CALL_S = 0.02
SIMULATED = 400_000
HEADING = (
    "calls",
    "utilization",
    "mean wait by formula",
    "simulated / formula",
    "real / simulated",
    "real - simulated",
)
UTILIZATIONS = (0.3, 0.5, 0.7)
STEP_S = 15
"""Seconds of each rate that LoadGen tries."""
CACHE = Path(tempfile.gettempdir()) / "ngraph-load-truth"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("queue", "loadgen", "peak"))
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--workload", default="mobilenetv3_small_050")
    parser.add_argument("--compiler", default="onnxruntime")
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--limit", type=float, default=0.1, help="seconds")
    parser.add_argument("--guess", type=float, default=1.0, help="requests a second that LoadGen begins with")
    given = parser.parse_args()
    case = Case(workload=given.workload, compiler=given.compiler, batch_size=1, objective=SERVING)
    if given.part == "queue":
        print(table(HEADING, queues(given.requests)))
    elif given.part == "peak":
        print(peak(case, given.limit, given.guess))
    else:
        print(table(["trial", "pytest-ngraph", "LoadGen", "difference"], peaks(case, given.limit, given.trials)))


def queues(requests: int) -> Iterator[list[str]]:
    """Yield the mean wait of each kind of calls at each utilization."""
    draw = random.Random(2)  # not the seed of the arrivals, on which the calls would depend
    kinds: dict[str, tuple[Callable[[], float], float]] = {
        "constant (M/D/1)": (lambda: CALL_S, 2.0),
        "exponential (M/M/1)": (lambda: draw.expovariate(1 / CALL_S), 1.0),
    }
    for name, (call_s, divisor) in kinds.items():
        for utilization in UTILIZATIONS:
            formula_s = utilization * CALL_S / (1 - utilization) / divisor
            long_s = simulated_s(schedule(utilization / CALL_S, SIMULATED, seed=1), call_s)
            real_s, same_s = waits_s(utilization, requests, call_s)
            beyond = f"{1e3 * (real_s - same_s):.2f} ms"
            row = [name, f"{utilization:.0%}", f"{1e3 * formula_s:.2f} ms", f"{long_s / formula_s:.3f}"]
            yield [*row, f"{real_s / same_s:.3f}", beyond]


def simulated_s(due: Sequence[float], call_s: Callable[[], float]) -> float:
    """Return the mean wait in simulated time."""
    clock = Simulated(due, call_s)
    return fmean(map(float.__sub__, serve(due, clock, clock.answer, clock.clock).begun, due))


def waits_s(utilization: float, requests: int, call_s: Callable[[], float]) -> tuple[float, float]:
    """Return the mean wait in real time, and in simulated time with the same arrivals and calls."""
    due = schedule(utilization / CALL_S, requests, seed=1)
    spare = this_machine().cores[1:2]
    generator = Generator(due, spare, own_core=bool(spare))

    def call() -> None:
        end = time.monotonic() + call_s()
        while time.monotonic() < end:
            pass

    try:
        served = serve(generator.due, generator, call, time.monotonic)
    finally:
        generator.close()
    took = iter(map(float.__sub__, served.ended, served.begun))
    return fmean(map(float.__sub__, served.begun, generator.due)), simulated_s(due, lambda: next(took))


def peaks(case: Case, limit_s: float, trials: int) -> Iterator[list[str]]:
    """Yield the highest rates that both find."""
    for trial in range(trials):
        settings = Settings(load_p99_s=limit_s, cache=CACHE)
        bench = Bench(settings, lambda case: Target(cores=this_machine().cores[:1]))
        try:
            (record,) = bench.run([case])
        finally:
            bench.close()
        found = compute([record])[case]["max_rate"]
        assert found.estimate is not None, found.absent
        command = [sys.executable, __file__, "peak", f"--workload={case.workload}", f"--compiler={case.compiler}"]
        command += [f"--limit={limit_s}", f"--guess={found.estimate.value / 2:.1f}"]
        other = float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])
        difference = found.estimate.value / other - 1
        yield [str(trial + 1), in_words(found), f"{other:.1f} requests/s", f"{difference:+.1%}"]


def peak(case: Case, limit_s: float, guess: float) -> float:
    """Return the highest rate that LoadGen finds. It begins with the guess, which has to be too low."""
    import mlperf_loadgen as lg  # type: ignore[import-not-found]

    cores = this_machine().cores
    folder = Path(tempfile.mkdtemp(prefix="loadgen-"))
    for name in ("exported", "compiled", "log"):
        (folder / name).mkdir()
    artifact: Artifact = export(case, folder / "exported")
    model = prepare(case, artifact, Target(cores=cores[:1]), folder / "compiled").model
    for _ in range(20):
        model()
    waiting: queue.SimpleQueue[list[lg.QuerySample] | None] = queue.SimpleQueue()
    settings, log = lg.TestSettings(), lg.LogSettings()
    settings.scenario, settings.mode = lg.TestScenario.Server, lg.TestMode.FindPeakPerformance
    settings.server_target_qps = guess
    settings.server_target_latency_ns = int(1e9 * limit_s)
    settings.server_target_latency_percentile = 0.99
    settings.min_duration_ms = 1000 * STEP_S
    settings.min_query_count = 100
    log.log_output.outdir = str(folder / "log")

    def ask() -> None:
        os.sched_setaffinity(0, cores[1:2] or cores)
        samples = lg.ConstructQSL(1, 1, lambda _: None, lambda _: None)
        lg.StartTestWithLogSettings(lg.ConstructSUT(waiting.put, lambda: None), samples, settings, log)
        waiting.put(None)

    threading.Thread(target=ask).start()
    while (asked := waiting.get()) is not None:
        for each in asked:
            model()
            lg.QuerySamplesComplete([lg.QuerySampleResponse(each.id, 0, 0)])
    log_text = (folder / "log" / "mlperf_log_detail.txt").read_text()
    found = re.search(r"Found peak performance field: ([\d.]+)", log_text)
    if not found:
        *_, reason = re.findall(r'FindPeakPerformance: ([^"]+)', log_text)
        raise SystemExit(f"LoadGen found no peak: {reason}")
    return float(found[1])


if __name__ == "__main__":
    main()
