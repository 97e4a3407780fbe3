"""Do we report what the compiler can do? Our throughput over the one from each library's own way of timing itself.

We and the peer run alternately, for equally many seconds, in separate processes. The ratio is taken pair by pair: 1
means equal, more means that we report more.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from markdown_output import table

from comparing import figures
from comparing.arms import bound
from comparing.child import Child, Failed, last_line
from pytest_ngraph.artifact import Artifact
from pytest_ngraph.bench.processes.process import WorkerFailed, WorkerProcess
from pytest_ngraph.case import IDENTITY, Case, CompilerSpec, Objective
from pytest_ngraph.compilers import missing_library
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.metrics.text import with_interval
from pytest_ngraph.stats import median_interval

DEVICE = BUILT_IN["cpu"]
TIMEOUT_S = 600.0
ROUND_S = 0.05
PEERS = {
    "identity": "torch.utils.benchmark",
    "torchscript": "torch.utils.benchmark",
    "inductor:ahead_of_time=false": "torch.utils.benchmark",
    "inductor": "torch.utils.benchmark",
    "onnxruntime": "a loop on its session",
    "openvino": "benchmark_app",
    "tvm": "time_evaluator",
}
COMPILERS: dict[Objective, tuple[str, ...]] = {"latency": tuple(PEERS), "throughput": ("openvino",)}
"""Compilers that have a peer: only OpenVINO's has a mode for throughput."""
UNITS = {"us": 1e-6, "ms": 1e-3}
SPAN = re.compile(r"(Median|Duration):\s+([\d.]+) (us|ms)")
"""The times that `benchmark_app` prints, with their units."""
FAILURES = (Failed, NgraphError, WorkerFailed)
"""Errors of a library, a worker of ours or a peer. The case concerned is left out, and the others go on."""

Burst = Callable[[], float]
"""Measures once; seconds per iteration."""


class Ours:
    """A case in our worker. A call returns seconds per iteration as a record has them: the median of the rounds."""

    def __init__(self, case: Case, artifact: Artifact, seconds: float) -> None:
        self._seconds = seconds
        self._worker = WorkerProcess(cores=DEVICE.target(case).cores, temporary=Path(tempfile.gettempdir()))
        prepared = self._ask(
            "prepare",
            case=case.to_dict(),
            artifact=artifact.to_dict(),
            target=DEVICE.target(case).to_dict(),
            warmup_s=3.0,
            round_s=ROUND_S,
        )
        if problem := prepared["agreement"]["problem"]:
            self.close()
            raise Failed(problem)
        self._calls = max(1, round(ROUND_S / prepared["seconds_per_call"]))
        self._iterations = self._calls * prepared["concurrency"]

    def __call__(self) -> float:
        samples: list[float] = []
        end = time.perf_counter() + self._seconds
        while time.perf_counter() < end or not samples:
            samples.append(self._ask("measure", calls=self._calls)["elapsed_s"] / self._iterations)
        return figures.median(samples)

    def close(self) -> None:
        self._worker.close()

    def _ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        return self._worker.request(do, timeout_s=TIMEOUT_S, **arguments)


def find(parsed: argparse.Namespace) -> str:
    """Return a row for each model, batch size and compiler, one for each compiler's median, and what is missing."""
    environment = {} if parsed.unbound else bound()
    medians: dict[str, list[float]] = {}
    rows, notes = [], []
    for model, batch_size in itertools.product(parsed.models, parsed.batch_sizes):
        with tempfile.TemporaryDirectory(prefix="ngraph-parity-") as folder:
            try:
                artifact = export(Case(workload=model, compiler=IDENTITY, batch_size=batch_size), Path(folder))
            except FAILURES as error:
                notes.append(f"{model} is left out: {error}")
                continue
            for compiler in parsed.compilers or COMPILERS[parsed.objective]:
                case = Case(workload=model, compiler=compiler, batch_size=batch_size, objective=parsed.objective)
                try:
                    found = list(ratios(case, artifact, parsed.pairs, parsed.pair_seconds, environment))
                    ratio = median_interval(np.array(found))
                except FAILURES as error:
                    notes.append(f"{case.id} is left out: {error}")
                    continue
                medians.setdefault(compiler, []).append(ratio.value)
                rows.append([f"`{compiler}`", PEERS[compiler], model, str(batch_size), with_interval(ratio)])
                print(*rows[-1], file=sys.stderr)
    rows += [
        [f"`{compiler}`", PEERS[compiler], "median of all", "", f"{figures.median(found):.3f}"]
        for compiler, found in medians.items()
    ]
    return "\n\n".join([table(["compiler", "peer", "model", "batch", "ours over peer"], rows), *notes])


def ratios(
    case: Case, artifact: Artifact, pairs: int, seconds: float, environment: Mapping[str, str]
) -> Iterator[float]:
    """Yield our throughput over the peer's, pair by pair, in alternating order.

    Args:
        case: the case.
        artifact: the artifact to compile.
        pairs: number of pairs.
        seconds: duration of each half of a pair.
        environment: changes to the peer's environment.

    Raises:
        Failed: the library is missing, or the peer failed.
    """
    missing = missing_library(case.compiler)
    if missing:
        raise Failed(missing)
    with ExitStack() as running:
        ours = Ours(case, artifact, seconds)
        running.callback(ours.close)
        peer = peer_of(case, artifact, seconds, environment, running)
        for index in range(pairs):
            if index % 2:
                their_s, our_s = peer(), ours()
            else:
                our_s, their_s = ours(), peer()
            yield their_s / our_s


def peer_of(
    case: Case, artifact: Artifact, seconds: float, environment: Mapping[str, str], running: ExitStack
) -> Burst:
    """Return the case's library's own way of timing itself on the same graph. `running` ends what this starts."""
    target = DEVICE.target(case)

    def child(program: str, **given: Any) -> Burst:
        started = running.enter_context(Child(program, environment=environment, **given))
        return lambda: started.ask()["seconds"]

    if case.compiler == "onnxruntime":
        model, inputs = artifact.folder / "peer.onnx", artifact.folder / "inputs.npz"
        save_onnx(artifact, model)
        return child("bare_session", model=str(model), inputs=str(inputs), threads=target.threads, seconds=seconds)
    if case.compiler == "openvino":
        save_openvino(artifact, artifact.folder / "peer.xml")
        return benchmark_app(artifact.folder / "peer.xml", case.objective, seconds, environment)
    if case.compiler == "tvm":
        given = {"artifact": artifact.to_dict(), "target": target.to_dict()}
        return child("tvm_evaluator", seconds=seconds, **given)
    return child(
        "timer",
        case=case.to_dict(),
        compiler=CompilerSpec.parse(case.compiler).name,
        artifact=None if case.compiler == IDENTITY else artifact.to_dict(),
        threads=target.threads,
        method="blocked_autorange",
        arguments={"min_run_time": seconds},
        warm=True,
    )


def benchmark_app(model: Path, objective: Objective, seconds: float, environment: Mapping[str, str]) -> Burst:
    """Return OpenVINO's own tool on the same graph, precision and objective, on all cores."""
    program = Path(sys.executable).with_name("benchmark_app")
    command = [
        *(str(program), "-m", str(model), "-d", "CPU", "-hint", objective, "-infer_precision", "f32"),
        *("-t", str(max(1, round(seconds)))),
    ]

    def run() -> float:
        done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
        return printed_seconds(done.stdout, objective)

    return run


def printed_seconds(printed: str, objective: Objective) -> float:
    """Return the seconds per iteration from the output of `benchmark_app`. Raise `Failed` if there are none."""
    count = re.search(r"Count:\s+(\d+)", printed)
    spans = {name: float(value) * UNITS[unit] for name, value, unit in SPAN.findall(printed)}
    if count is None or not {"Median", "Duration"} <= spans.keys():
        raise Failed(last_line(printed) or "benchmark_app printed nothing")
    return spans["Median"] if objective == "latency" else spans["Duration"] / int(count[1])


def save_onnx(artifact: Artifact, path: Path) -> None:
    import torch

    assert artifact.program is not None
    torch.onnx.export(torch.export.load(artifact.program), (), path, dynamo=True, verbose=False)


def save_openvino(artifact: Artifact, path: Path) -> None:
    import openvino
    import torch

    assert artifact.program is not None
    model = openvino.convert_model(torch.export.load(artifact.program))
    model.reshape({index: list(array.shape) for index, array in enumerate(artifact.inputs())})
    openvino.save_model(model, path, compress_to_fp16=False)


def export(case: Case, folder: Path) -> Artifact:
    worker = WorkerProcess(cores=DEVICE.target(case).cores, temporary=Path(tempfile.gettempdir()))
    try:
        answer = worker.request("export", timeout_s=TIMEOUT_S, case=case.to_dict(), folder=str(folder))
        return Artifact.from_dict(answer)
    finally:
        worker.close()
