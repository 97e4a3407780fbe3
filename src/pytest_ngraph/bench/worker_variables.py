"""The variables that a worker is started with: how many threads its libraries have, and where these run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pytest_ngraph.compilers.threads import BOUND

TVM_SPINS = "100"
"""How often an idle thread of TVM's looks for work before it sleeps. By default, 300,000 times: it spins on through the
round of the arm that comes after, which then takes twice as long. With none, small kernels wait for it to wake up."""
COVERAGE = (
    "COV_CORE_SOURCE",
    "COV_CORE_CONFIG",
    "COV_CORE_DATAFILE",
    "COVERAGE_PROCESS_START",
    "COVERAGE_PROCESS_CONFIG",
)
"""Variables that have a child process trace its Python, which would be timed with it."""


def of_worker(cores: Sequence[int], temporary: Path, *, bound: bool) -> dict[str, str]:
    """The parent's environment but for what measures coverage, with every thread pool sized to `cores` and, where
    asked, OpenMP's bound to them.

    Unbound threads make the process itself the noise: two of the same code differ by up to 14 %.
    """
    threads = str(len(cores))
    own = {name: value for name, value in os.environ.items() if name not in COVERAGE}
    return (
        own
        | (bound_threads(cores) if bound else {})
        | {
            "OMP_NUM_THREADS": threads,
            "MKL_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
            "TVM_NUM_THREADS": threads,
            "TVM_THREAD_POOL_SPIN_COUNT": TVM_SPINS,
            "NVIDIA_TF32_OVERRIDE": "0",  # fp32 is fp32: some of NVIDIA's libraries have no other switch
            "TMPDIR": str(temporary),
        }
    )


def bound_threads(cores: Sequence[int]) -> dict[str, str]:
    """Variables with which OpenMP, and so PyTorch, binds one thread to each of these cores."""
    places = ",".join(f"{{{core}}}" for core in cores)
    return {"OMP_NUM_THREADS": str(len(cores)), "OMP_PROC_BIND": "true", "OMP_PLACES": places, BOUND: "1"}
