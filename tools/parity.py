"""Is what we report what the compiler can do? Our throughput over that of each library's own way of timing itself.

    python tools/parity.py [--models resnet18,swin_s3_tiny_224] [--batch-sizes 1,8] [--pairs 5] [--seconds 2]
    python tools/parity.py --objective throughput

eager PyTorch against `torch.utils.benchmark`, ONNX Runtime against a bare loop on its session, OpenVINO against its
`benchmark_app`, which alone has a mode for throughput. Ours and the peer run in turn, `seconds` each, every one in
processes of its own, and the ratio is taken pair by pair: 1 means equal, more means that we report more.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.bench.process import WorkerProcess
from pytest_ngraph.case import Case, Objective
from pytest_ngraph.devices import BUILT_IN

DEVICE = BUILT_IN["cpu"]
THREADS = DEVICE.target(Case(workload="", compiler="", batch_size=1)).threads
TIMEOUT_S = 600.0
COMPILERS: dict[Objective, list[str]] = {
    "latency": ["identity", "onnxruntime", "openvino"],
    "throughput": ["openvino"],
}

EAGER = """
import sys, torch
from torch.utils.benchmark import Timer
from pytest_ngraph.case import Case
from pytest_ngraph.workloads import build
workload, batch_size, threads, seconds = sys.argv[1], *map(float, sys.argv[2:])
built = build(Case(workload=workload, compiler="identity", batch_size=int(batch_size)))
with torch.inference_mode():
    timer = Timer("module(*inputs)", globals={"module": built.module, "inputs": built.inputs}, num_threads=int(threads))
    timer.blocked_autorange(min_run_time=seconds)
    print("ready", flush=True)
    for _ in sys.stdin:
        print(timer.blocked_autorange(min_run_time=seconds).median, flush=True)
"""

BARE_SESSION = """
import statistics, sys, time
import numpy as np, onnxruntime
path, inputs, threads, seconds = sys.argv[1], sys.argv[2], *map(float, sys.argv[3:])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(threads)
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
with np.load(inputs) as arrays:
    feed = {i.name: arrays[name] for i, name in zip(session.get_inputs(), sorted(arrays.files))}
def burst():
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        session.run(None, feed)
        times.append(time.perf_counter() - start)
    return statistics.median(times)
burst()
print("ready", flush=True)
for _ in sys.stdin:
    print(burst(), flush=True)
"""


class Peer:
    """A process that times a library its own way whenever asked; seconds per iteration."""

    def __init__(self, code: str, *arguments: object) -> None:
        command = [sys.executable, "-c", code, *map(str, arguments)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._process.stdout.readline()  # ready: warmed up, and quiet until asked

    def __call__(self) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


class Ours:
    """A case in our worker; seconds per iteration as a record would have it: the median of the rounds."""

    def __init__(self, case: Case, artifact: Artifact, seconds: float) -> None:
        self._seconds = seconds
        self._worker = WorkerProcess(cores=DEVICE.target(case).cores, temporary=Path(tempfile.gettempdir()))
        prepared = self._ask(
            "prepare",
            case=case.to_dict(),
            artifact=artifact.to_dict(),
            target=DEVICE.target(case).to_dict(),
            warmup_s=3.0,
            round_s=0.05,
        )
        self._calls = max(1, round(0.05 / prepared["seconds_per_call"]))
        self._iterations = self._calls * prepared["concurrency"]

    def __call__(self) -> float:
        samples: list[float] = []
        end = time.perf_counter() + self._seconds
        while time.perf_counter() < end:
            samples.append(self._ask("measure", calls=self._calls)["elapsed_s"] / self._iterations)
        return statistics.median(samples)

    def close(self) -> None:
        self._worker.close()

    def _ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        return self._worker.request(do, timeout_s=TIMEOUT_S, **arguments)


def benchmark_app(model: Path, objective: Objective, seconds: float) -> Callable[[], float]:
    """OpenVINO's own tool on the same graph, precision and objective, on all cores; seconds per iteration."""
    program = Path(sys.executable).with_name("benchmark_app")
    command = [
        *(str(program), "-m", str(model), "-d", "CPU", "-hint", objective, "-infer_precision", "f32"),
        *("-t", str(max(1, round(seconds)))),
    ]

    def run() -> float:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        told = dict(re.findall(r"(Median|Count|Duration):\s+([\d.]+)", done.stdout))
        if len(told) < 3:
            sys.exit(done.stdout + done.stderr)
        ms = float(told["Median"]) if objective == "latency" else float(told["Duration"]) / float(told["Count"])
        return ms / 1000

    return run


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


def peer_for(compiler: str, case: Case, artifact: Artifact, seconds: float) -> Callable[[], float]:
    if compiler == "identity":
        return Peer(EAGER, case.workload, case.batch_size, THREADS, seconds)
    if compiler == "onnxruntime":
        save_onnx(artifact, artifact.folder / "peer.onnx")
        return Peer(BARE_SESSION, artifact.folder / "peer.onnx", artifact.folder / "inputs.npz", THREADS, seconds)
    save_openvino(artifact, artifact.folder / "peer.xml")
    return benchmark_app(artifact.folder / "peer.xml", case.objective, seconds)


def ratios(case: Case, artifact: Artifact, pairs: int, seconds: float) -> list[float]:
    """Our throughput over the peer's, pair by pair, in alternating order."""
    ours = Ours(case, artifact, seconds)
    peer = peer_for(case.compiler, case, artifact, seconds)
    try:
        found = []
        for index in range(pairs):
            if index % 2:
                their_s, our_s = peer(), ours()
            else:
                our_s, their_s = ours(), peer()
            found.append(their_s / our_s)
        return found
    finally:
        ours.close()
        if isinstance(peer, Peer):
            peer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="resnet18,efficientnet_b3,swin_s3_tiny_224")
    parser.add_argument("--batch-sizes", default="1,8")
    parser.add_argument("--objective", choices=COMPILERS, default="latency")
    parser.add_argument("--compilers", help="default: all that have a peer for the objective")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    chosen = parser.parse_args()
    with_peers = COMPILERS[chosen.objective]
    compilers = chosen.compilers.split(",") if chosen.compilers else with_peers
    if not set(compilers) <= set(with_peers):
        parser.error(f"--compilers: those with a peer for {chosen.objective} are {', '.join(with_peers)}")
    print(f"{'compiler':12} {'peer':22} {'model':26} {'batch':>5} {'ours/peer':>10}   lowest..highest pair")
    names = {"identity": "torch.utils.benchmark", "onnxruntime": "bare session", "openvino": "benchmark_app"}
    medians: dict[str, list[float]] = {}
    for model in chosen.models.split(","):
        for batch_size in map(int, chosen.batch_sizes.split(",")):
            folder = Path(tempfile.mkdtemp(prefix="ngraph-parity-"))
            artifact = export(Case(workload=model, compiler="identity", batch_size=batch_size), folder)
            for compiler in compilers:
                case = Case(workload=model, compiler=compiler, batch_size=batch_size, objective=chosen.objective)
                found = ratios(case, artifact, chosen.pairs, chosen.seconds)
                medians.setdefault(compiler, []).append(statistics.median(found))
                print(
                    f"{compiler:12} {names[compiler]:22} {model:26} {batch_size:5} {statistics.median(found):10.3f}"
                    f"   {min(found):.3f}..{max(found):.3f}",
                    flush=True,
                )
            shutil.rmtree(folder)
    for compiler, found in medians.items():
        print(f"{compiler:12} {names[compiler]:22} {'median of all':32} {statistics.median(found):10.3f}")


if __name__ == "__main__":
    main()
