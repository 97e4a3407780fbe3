"""The environment variables of a worker: how many threads its libraries have, and on which cores they run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.compilers.threads import BOUND, COMPILING
from pytest_ngraph.machine.cores import to_compile_on

TVM_SPINS = "100"
"""How often an idle thread of TVM looks for work before it sleeps.

With the default of 300,000 it spins through the next arm's round, which then takes twice as long. With 0, small kernels
wait for it to wake up.
"""
COVERAGE = (
    "COV_CORE_SOURCE",
    "COV_CORE_CONFIG",
    "COV_CORE_DATAFILE",
    "COVERAGE_PROCESS_START",
    "COVERAGE_PROCESS_CONFIG",
)
"""Variables that make a child process trace its Python code, which would be timed with it."""


def of_worker(cores: Sequence[int], temporary: Path, home: Home, *, bound: bool) -> dict[str, str]:
    """Return this process's environment without coverage variables, and with every thread pool sized to `cores`.

    Args:
        cores: the logical CPUs of the worker.
        temporary: where it puts temporary files.
        home: where it runs.
        bound: whether OpenMP's threads are bound to `cores`. With unbound threads, two processes of the same code
            differ by up to 14 %.
    """
    threads = str(len(cores))
    return (
        {**without_coverage(), **home.variables}
        | (bound_threads(cores) if bound else {})
        | {
            "OMP_NUM_THREADS": threads,
            "MKL_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
            "TVM_NUM_THREADS": threads,
            "TVM_THREAD_POOL_SPIN_COUNT": TVM_SPINS,
            "NVIDIA_TF32_OVERRIDE": "0",  # so that fp32 is not TF32: some of NVIDIA's libraries have no other switch
            COMPILING: ",".join(map(str, to_compile_on(cores))),
            "TMPDIR": str(temporary),
        }
    )


def without_coverage() -> dict[str, str]:
    """Return this process's environment without the variables of coverage."""
    return {name: value for name, value in os.environ.items() if name not in COVERAGE}


def bound_threads(cores: Sequence[int]) -> dict[str, str]:
    """Return variables that make OpenMP, and so PyTorch, bind one thread to each of these cores."""
    places = ",".join(f"{{{core}}}" for core in cores)
    return {"OMP_NUM_THREADS": str(len(cores)), "OMP_PROC_BIND": "true", "OMP_PLACES": places, BOUND: "1"}
