"""Run a deployed folder in a process of its own, in which chosen modules cannot be imported, or here with stand-ins."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from compiled import CPU
from forking import Script, TorchServer

from pytest_ngraph.artifact import Array
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.serving.script import SCRIPT, script

Deploy = Callable[[Case], Path]
Check = Callable[[Case], "subprocess.CompletedProcess[str]"]
OWN = "pytest_ngraph"
WITHOUT_TORCH = ("onnxruntime", "openvino", "tvm")
"""Compilers whose folders need no PyTorch."""
WITHOUT = """
import runpy, sys

class Blocking:
    def find_spec(self, name, path=None, target=None):
        if not {name, name.partition(".")[0]}.isdisjoint(BLOCKED):
            raise ModuleNotFoundError(f"{name} is not installed", name=name)

BLOCKED, script, *arguments = sys.argv[1].split(","), *sys.argv[2:]
sys.meta_path.insert(0, Blocking())
sys.argv = [script, *arguments]
"""
SOON_OVER = """
import time

actual = time.perf_counter
time.perf_counter = lambda: 30 * actual()  # what takes the throughput for three seconds takes a tenth of one
"""
AS_SCRIPT = WITHOUT + SOON_OVER + "runpy.run_path(script, run_name='__main__')\n"
THEN_IMPORTED = AS_SCRIPT + (
    "sys.path.insert(0, script.rpartition('/')[0])\n"
    "import serve\n"
    "model = serve.load()\n"
    "for _ in range(2):\n"
    "    outputs = serve.answer(model, serve.samples())\n"
    "print(type(outputs).__name__, [(type(each).__name__, *each.shape) for each in outputs])\n"
    "print(sorted({'pytest', *BLOCKED} & set(sys.modules)))\n"
)


@contextmanager
def soon_checked(server: TorchServer | None = None) -> Iterator[None]:
    """Have folders that are deployed in this process check themselves sooner, as `check` has them.

    Args:
        server: forks the process of a check, as in `check`.
    """

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        *python, script, option = command
        as_script = f"runpy.run_path({script!r}, run_name='__main__')"
        code = f"{SOON_OVER}import runpy, sys\nsys.argv = {[script, option]}\n{as_script}\n"
        if server is None:
            done: subprocess.CompletedProcess[str] = subprocess.run([*python, "-c", code], **options)
            return done
        in_folder = f"import os\nos.chdir({str(options['cwd'])!r})\n"
        return server.run(Script(in_folder + code, without=(OWN,)), CPU.cores)

    stand_in = SimpleNamespace(run=run, TimeoutExpired=subprocess.TimeoutExpired)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_ngraph.deploy.folder.subprocess", stand_in)
        yield


def answered(folder: Path, server: TorchServer) -> str:
    """Return what the folder's script prints without options, in a process that this server forks."""
    code = f"import runpy\nrunpy.run_path({str(folder / SCRIPT)!r}, run_name='__main__')\n"
    return server.run(Script(code, without=(OWN,)), CPU.cores).stdout


def conv(compiler: str, **values: object) -> Case:
    return Case(**{"workload": "conv", "compiler": compiler, "batch_size": 1, "depth": 2, "width": 16} | values)  # type: ignore[arg-type]


def check(folder: Path, *without: str, server: TorchServer | None = None) -> subprocess.CompletedProcess[str]:
    """Run the folder's check where neither pytest-ngraph nor these modules can be imported.

    Args:
        without: top-level modules.
        server: forks the process, which so has PyTorch imported; None for a fresh interpreter.
    """
    arguments = _arguments(folder, without)
    if server:
        return server.run(Script(AS_SCRIPT, arguments, (OWN, *without)), CPU.cores)
    return _fresh(AS_SCRIPT, arguments)


def check_and_import(folder: Path, *without: str) -> subprocess.CompletedProcess[str]:
    """Run the check in a fresh interpreter; then import the script, let it answer twice, and print the outputs.

    Args:
        without: top-level modules, or modules of packages, that cannot be imported.
    """
    return _fresh(THEN_IMPORTED, _arguments(folder, without))


def imported(folder: Path, serving: Serving, inputs: Sequence[Array] = (), **libraries: object) -> Any:
    """Write `serve.py` and import it here, where these stand in for the libraries that it imports."""
    path = folder / SCRIPT
    case = Case(workload="conv", compiler="identity", batch_size=1)
    path.write_text(script(case, serving, inputs, threads=2, tolerance=1e-4))
    spec = spec_from_file_location("serve", path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        for name, library in libraries.items():
            patch.setitem(sys.modules, name, library)
        spec.loader.exec_module(module)
    return module


def _arguments(folder: Path, without: tuple[str, ...]) -> tuple[str, ...]:
    return ",".join((OWN, *without)), str(folder / "serve.py"), "--check"


def _fresh(code: str, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-c", code, *arguments]
    return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
