"""A process keeps the memory that it frees, unless the user has set the allocator."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from pytest_ngraph.worker.memory import ALLOCATOR_VARIABLES, KEEPING, Footprint

FAULTS_OF_A_CALL = """
import resource
import torch
from pytest_ngraph.worker.memory import keep_freed_memory

def call():
    held = torch.ones(64 * 2**20, dtype=torch.uint8)  # more than glibc keeps by default
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

keep_freed_memory()
for _ in range(12):  # in the first ones, parts of a block that glibc caches keep the rest from being used again
    call()
print(-call() + call())
"""
PAGES = 64 * 2**20 // os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0


def faults(**variables: str) -> int:
    """Return the pages that the kernel hands out in a call that needs no more memory than the one before."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ALLOCATOR_VARIABLES)}
    command = [sys.executable, "-c", FAULTS_OF_A_CALL]
    ran = subprocess.run(command, env=inherited | variables, capture_output=True, text=True, check=True)
    return int(ran.stdout)


needs_glibc = pytest.mark.skipif(
    sys.platform != "linux" or "CS_GNU_LIBC_VERSION" not in os.confstr_names, reason="only glibc's allocator is set"
)


@needs_glibc
def test_freed_memory_is_kept() -> None:
    assert faults() < PAGES // 100


@needs_glibc
@pytest.mark.parametrize("variables", [{"GLIBC_TUNABLES": "glibc.malloc.perturb=0"}, {"MALLOC_PERTURB_": "0"}])
def test_an_allocator_that_the_user_has_set_is_left_alone(variables: dict[str, str]) -> None:
    assert faults(**variables) > PAGES // 2


@needs_glibc
def test_the_variables_do_the_same() -> None:
    assert faults(**KEEPING) < PAGES // 100


BYTES = 128 * 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process reset its peak")
def test_what_an_earlier_case_needed_does_not_count() -> None:
    footprint = Footprint()
    footprint.begin("cpu")
    large = np.ones(BYTES, dtype=np.uint8)
    before = footprint.peaks("cpu")["peak_memory_bytes"]
    del large
    footprint.begin("cpu")
    after = footprint.peaks("cpu")["peak_memory_bytes"]
    assert before is not None
    assert after is not None
    assert before - after > BYTES // 2


def test_a_cpu_has_no_memory_of_a_gpu() -> None:
    footprint = Footprint()
    footprint.begin("cpu")
    footprint.look("cpu")
    assert footprint.peaks("cpu")["device_memory_bytes"] is None
