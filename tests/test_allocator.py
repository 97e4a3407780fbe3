"""What a process frees stays with it, and nothing is set for those who set the allocator themselves."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pytest_ngraph.worker.memory import ALLOCATOR_VARIABLES, KEEPING

FAULTS_OF_A_CALL = """
import resource
import torch
from pytest_ngraph.allocator import keep_freed_memory

def call():
    held = torch.ones(64 * 2**20, dtype=torch.uint8)  # larger than glibc keeps by itself
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

keep_freed_memory()
for _ in range(12):  # in the first, crumbs of a block that glibc's caches hold keep the rest from being used again
    call()
print(-call() + call())
"""
PAGES = 64 * 2**20 // os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0


def faults(**variables: str) -> int:
    """Pages that the kernel hands out in a call that needs no more memory than the one before."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ALLOCATOR_VARIABLES)}
    command = [sys.executable, "-c", FAULTS_OF_A_CALL]
    ran = subprocess.run(command, env=inherited | variables, capture_output=True, text=True, check=True)
    return int(ran.stdout)


needs_glibc = pytest.mark.skipif(
    sys.platform != "linux" or "CS_GNU_LIBC_VERSION" not in os.confstr_names, reason="only glibc's is set"
)


@needs_glibc
def test_freed_memory_is_kept() -> None:
    assert faults() < PAGES // 100


@needs_glibc
@pytest.mark.parametrize("variables", [{"GLIBC_TUNABLES": "glibc.malloc.perturb=0"}, {"MALLOC_PERTURB_": "0"}])
def test_who_sets_the_allocator_has_it_as_set(variables: dict[str, str]) -> None:
    assert faults(**variables) > PAGES // 2


@needs_glibc
def test_the_variables_do_the_same() -> None:
    assert faults(**KEEPING) < PAGES // 100
