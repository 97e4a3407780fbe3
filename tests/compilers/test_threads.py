"""Which cores threads run on, observed in child processes that start as a worker does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest
from forking import Script, TorchServer

from pytest_ngraph.bench.processes.forked import ForkedProcess
from pytest_ngraph.bench.processes.worker_variables import bound_threads
from pytest_ngraph.compilers import threads
from pytest_ngraph.machine.machine import this_machine

CORES = this_machine().cores[:2]

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or len(CORES) < 2, reason="binding needs Linux and at least two cores"
)

SCRIPT = """
import json, pathlib, sys, tempfile, threading, time
from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.threads import on_all_cores
from pytest_ngraph.workloads.export import export

def threads():
    found = {}
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            ticks = sum(map(int, (task / "stat").read_text().rpartition(")")[2].split()[11:13]))
            mask = (task / "status").read_text().split("Cpus_allowed_list:")[1].split()[0]
        except OSError:  # the thread has just ended
            continue
        found[task.name] = ticks, mask
    return found

name, objective, cores = sys.argv[1], sys.argv[2], tuple(json.loads(sys.argv[3]))
case = Case(workload="conv", compiler=name, batch_size=1, depth=2, width=32)
artifact = export(case, pathlib.Path(tempfile.mkdtemp()))
target, folder = Target(cores=cores, objective=objective), pathlib.Path(tempfile.mkdtemp())
compiler = compilers.resolve(name)
with on_all_cores():
    compiler.compile(artifact, target, folder)
model = compiler.load(artifact, target, folder)
model()
print("ready", flush=True)
input()
before, masks, spent, done = threads(), {}, {}, threading.Event()

def watch():
    while not done.wait(0.05):
        for task, (ticks, mask) in threads().items():
            masks.setdefault(task, []).append(mask)
            spent[task] = ticks - before.get(task, (0, ""))[0]
        if sorted(spent.values())[-len(cores):][0] >= 20:  # hundredths of a second
            done.set()

watcher = threading.Thread(target=watch)
watcher.start()
ends = time.monotonic() + 60
while not done.is_set() and time.monotonic() < ends:
    model()
done.set()
watcher.join()
model.close()
busiest = sorted(masks, key=spent.get)[-len(cores):]
print(json.dumps([max(set(masks[task]), key=masks[task].count) for task in busiest]))
"""


@pytest.fixture
def compiled(compiler: str, objective: str, torch_server: TorchServer) -> Iterator[ForkedProcess]:
    """A process that has compiled a model, and computes once it reads a line."""
    if compiler in ("onnxruntime", "openvino"):
        pytest.importorskip(compiler)
    with tempfile.TemporaryFile() as stderr:
        process = torch_server.start(Script(SCRIPT, (compiler, objective, json.dumps(CORES))), CORES, stderr)
        assert b"ready\n" in process.stdout
        yield process
        process.stdin.close()
        process.wait(timeout=60)


@pytest.mark.parametrize("objective", ["latency", pytest.param("throughput", marks=pytest.mark.slow)])
@pytest.mark.parametrize("compiler", ["identity", "torchscript", "onnxruntime", "openvino"])
def test_each_computing_thread_has_a_core_of_its_own(compiled: ForkedProcess) -> None:
    compiled.stdin.write(b"go\n")
    compiled.stdin.flush()
    *_, printed = compiled.stdout
    assert sorted(json.loads(printed)) == sorted(str(core) for core in CORES)


def test_a_stream_keeps_its_core_although_openmp_binds_it(torch_server: TorchServer) -> None:
    """OpenMP binds a thread to the first place of the process when the thread first divides work."""
    script = (
        "import os, torch\n"
        "from types import SimpleNamespace\n"
        "from pytest_ngraph.artifact import Target\n"
        "from pytest_ngraph.compilers.streams import Streams\n"
        "masks = []\n"
        "class Instance(SimpleNamespace):\n"
        "    def __call__(self):\n"
        "        masks.append(os.sched_getaffinity(0))\n"
        f"        torch.set_num_threads({len(CORES)})\n"
        "        torch.ones(1 << 20).exp()\n"
        "    def close(self): pass\n"
        f"model = Streams(lambda on: Instance(facts={{}}), None, Target(cores={CORES}, objective='throughput'))\n"
        "masks.clear()\n"
        "for _ in range(20): model()\n"
        "model.close()\n"
        f"assert {{core for mask in masks for core in mask}} == set({CORES}), masks\n"
        "assert all(len(mask) == 1 for mask in masks), masks\n"
    )
    assert torch_server.run(Script(script), CORES).stderr == ""


def test_a_process_that_is_not_bound_keeps_its_mask() -> None:
    script = (
        "import os; from pytest_ngraph.artifact import Target; from pytest_ngraph.compilers import threads\n"
        "before = os.sched_getaffinity(0)\n"
        "with threads.spread(Target(cores=(0,))): pass\n"
        "assert os.sched_getaffinity(0) == before"
    )
    environment = {name: value for name, value in _bound_environment().items() if name != threads.BOUND}
    assert _problem_of(script, environment) == ""


def test_threads_are_spread_although_torch_is_imported_only_within() -> None:
    script = (
        "import os; from pytest_ngraph.artifact import Target; from pytest_ngraph.compilers import threads\n"
        f"with threads.spread(Target(cores={CORES})):\n"
        "    import torch\n"
        f"    assert os.sched_getaffinity(0) == set({CORES})\n"
        f"assert os.sched_getaffinity(0) == {{{CORES[0]}}}"
    )
    assert _problem_of(script, _bound_environment()) == ""


def test_compiling_may_use_all_cores_and_then_computes_on_its_own_again(torch_server: TorchServer) -> None:
    first, last = CORES[:1], CORES[-1:]
    script = (
        "import os, subprocess, sys, torch; from pytest_ngraph.artifact import Target\n"
        "from pytest_ngraph.compilers import threads\n"
        "show = [sys.executable, '-c', 'import os; print(sorted(os.sched_getaffinity(0)))']\n"
        "started = lambda: subprocess.check_output(show, text=True).strip()\n"
        f"target = Target(cores={CORES})\n"
        f"assert threads.compiling_cores() == {CORES}\n"
        f"assert started() == '{list(first)}'\n"
        "with threads.on_all_cores():\n"
        f"    assert started() == '{list(CORES)}'\n"
        f"    with threads.on_first_core(target): assert started() == '{list(first)}'\n"
        f"    with threads.spread(Target(cores={last})): assert started() == '{list(last)}'\n"
        f"    assert started() == '{list(CORES)}'\n"
        f"assert started() == '{list(first)}'\n"
        "threads.use_all_cores()\n"
        f"assert started() == '{list(CORES)}'\n"
    )
    script = f"import os; os.environ[{threads.COMPILING!r}] = {','.join(map(str, CORES))!r}\n{script}"
    assert torch_server.run(Script(script), CORES).stderr == ""


def test_a_thread_that_torch_has_not_bound_is_bound_by_what_compiles() -> None:
    """A compiler may import torch itself. Afterwards its thread has to be on the first core, as where it was before."""
    script = (
        "import os, sys; from pytest_ngraph.compilers import threads\n"
        "with threads.on_all_cores():\n"
        "    assert 'torch' not in sys.modules\n"
        "    import torch\n"
        f"assert os.sched_getaffinity(0) == {{{CORES[0]}}}"
    )
    assert _problem_of(script, _bound_environment()) == ""


def _problem_of(script: str, environment: dict[str, str]) -> str:
    """Return the standard error of a process that runs the script and fails; empty where it succeeds."""
    command = [sys.executable, "-W", "ignore", "-c", script]
    finished = subprocess.run(command, check=False, env=environment, stderr=subprocess.PIPE, text=True)
    return finished.stderr if finished.returncode else ""


def _bound_environment() -> dict[str, str]:
    """Return the environment that a worker is started with."""
    return dict(os.environ) | bound_threads(CORES)
