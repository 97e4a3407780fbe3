"""A process keeps the memory that it frees, unless the user has set the allocator."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_ngraph.worker import memory
from pytest_ngraph.worker.memory import ALLOCATOR_VARIABLES, KEEPING, Footprint, _drop_code, _unchanged

pytestmark = pytest.mark.usefixtures("_frozen")

FAULTS_OF_A_CALL = """
import resource
from pytest_ngraph.worker.memory import keep_freed_memory
{imported}

def call():
    held = {held}  # more than glibc keeps by default
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

keep_freed_memory()
for _ in range(12):  # in the first ones, parts of a block that glibc caches keep the rest from being used again
    call()
print(-call() + call())
"""
OF_TORCH = {"imported": "import torch", "held": "torch.ones(64 * 2**20, dtype=torch.uint8)"}
OF_PYTHON = {"imported": "", "held": "bytearray(64 * 2**20)"}
PAGES = 64 * 2**20 // os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0


def faults(holding: dict[str, str], **variables: str) -> int:
    """Return the pages that the kernel hands out in a call that needs no more memory than the one before."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ALLOCATOR_VARIABLES)}
    command = [sys.executable, "-c", FAULTS_OF_A_CALL.format(**holding)]
    ran = subprocess.run(command, env=inherited | variables, capture_output=True, text=True, check=True)
    return int(ran.stdout)


needs_glibc = pytest.mark.skipif(
    sys.platform != "linux" or "CS_GNU_LIBC_VERSION" not in os.confstr_names, reason="only glibc's allocator is set"
)


@needs_glibc
def test_freed_memory_is_kept() -> None:
    assert faults(OF_TORCH) < PAGES // 100


@needs_glibc
@pytest.mark.parametrize("variables", [{"GLIBC_TUNABLES": "glibc.malloc.perturb=0"}, {"MALLOC_PERTURB_": "0"}])
def test_an_allocator_that_the_user_has_set_is_left_alone(variables: dict[str, str]) -> None:
    assert faults(OF_PYTHON, **variables) > PAGES // 2


@needs_glibc
def test_the_variables_do_the_same() -> None:
    assert faults(OF_PYTHON, **KEEPING) < PAGES // 100


BYTES = 128 * 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process reset its peak")
def test_what_an_earlier_case_needed_does_not_count() -> None:
    footprint = Footprint()
    footprint.begin_loading("cpu")
    large = np.ones(BYTES, dtype=np.uint8)
    before = footprint.peaks("cpu")["worker_memory_bytes"]
    del large
    footprint.begin_loading("cpu")
    after = footprint.peaks("cpu")["worker_memory_bytes"]
    assert before is not None
    assert after is not None
    assert before - after > BYTES // 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process reset its peak")
def test_what_compiling_leaves_behind_does_not_count() -> None:
    footprint = Footprint()
    footprint.note_libraries()
    footprint.begin_loading("cpu")
    alone = footprint.peaks("cpu")["worker_memory_bytes"]
    left = np.ones(BYTES, dtype=np.uint8)
    footprint.note_libraries()  # only the first call counts
    footprint.begin_loading("cpu")
    model = np.ones(BYTES, dtype=np.uint8)
    beside = footprint.peaks("cpu")["worker_memory_bytes"]
    assert alone is not None
    assert beside is not None
    assert beside - alone == pytest.approx(BYTES, rel=0.1)
    assert left.size == model.size


SMAPS = """55d0c0000000-55d0c0001000 r--p 00000000 08:01 7 /usr/lib/libc.so.6
Size:                  4 kB
Rss:                   4 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd mr mw me sd
55d0c0001000-55d0c0003000 r-xp 00001000 08:01 7                          /usr/lib/a b.so
Size:                  8 kB
Rss:                   8 kB
Anonymous:             0 kB
AnonHugePages:         0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me sd
55d0c0003000-55d0c0004000 r--p 00003000 08:01 7 /usr/lib/libc.so.6
Rss:                   4 kB
Anonymous:             4 kB
Swap:                  0 kB
55d0c0004000-55d0c0005000 rw-p 00004000 08:01 7 /usr/lib/libc.so.6
Rss:                   4 kB
Anonymous:             0 kB
Swap:                  0 kB
55d0c0005000-55d0c0006000 r--s 00005000 08:01 7 /tmp/shared
Rss:                   4 kB
Anonymous:             0 kB
Swap:                  0 kB
55d0c0006000-55d0c0007000 r-xp 00000000 00:05 9 /dev/nvidia0
Rss:                   4 kB
Anonymous:             0 kB
Swap:                  0 kB
55d0c0007000-55d0c0009000 r--p 00007000 08:01 7 /usr/lib/libc.so.6
Rss:                   4 kB
Anonymous:             0 kB
Swap:                  4 kB
55d0c0009000-55d0c000a000 r--p 00009000 08:01 7 /usr/lib/libc.so.6
Rss:                   0 kB
Anonymous:             0 kB
Swap:                  0 kB
7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0 [vdso]
Rss:                   4 kB
Anonymous:             0 kB
Swap:                  0 kB
"""


MAPS = "".join(line for line in SMAPS.splitlines(keepends=True) if "-" in line)


def test_only_pages_of_files_that_cannot_have_changed_are_dropped() -> None:
    assert list(_unchanged(SMAPS, MAPS)) == [(0x55D0C0000000, 0x55D0C0001000), (0x55D0C0001000, 0x55D0C0003000)]


def test_addresses_that_are_not_of_this_process_are_left_alone() -> None:
    """QEMU 7.2 emulates `maps`, but passes on `smaps` with the addresses that the emulated process has on the host."""
    emulated = MAPS.replace("55d0c0001000-55d0c0003000", "55d0bfc00000-55d0bfc02000")
    assert list(_unchanged(SMAPS, emulated)) == [(0x55D0C0000000, 0x55D0C0001000)]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports what is mapped")
def test_code_that_was_dropped_still_runs() -> None:
    before = np.linalg.inv(np.eye(3))
    _drop_code()
    assert np.array_equal(np.linalg.inv(np.eye(3)), before)


def test_a_cpu_has_no_memory_of_a_gpu() -> None:
    footprint = Footprint()
    footprint.begin_loading("cpu")
    footprint.look("cpu")
    assert footprint.peaks("cpu")["device_memory_bytes"] is None


def test_the_share_of_a_gpus_memory_is_known_beside_what_a_model_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a fake `torch.cuda`: others hold a quarter, and the model comes to an eighth."""
    import torch

    total = 8 * 2**30
    free = iter([total * 3 // 4, total * 5 // 8, total * 5 // 8, total * 5 // 8])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (next(free), total))
    footprint = Footprint()
    footprint.begin_loading("cuda")
    footprint.look("cuda")
    assert footprint.on_device("cuda") == (0.375, 0.125)
    assert footprint.on_device("cpu") is None


def test_what_another_process_frees_on_a_gpu_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen on an H200: the worker of another compiler freed its model, and this one's seemed to need nothing."""
    import torch

    held = iter([2**29, 2**29 + 2**27])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (2**33, 2**34))
    monkeypatch.setattr(memory, "_gpu", lambda: SimpleNamespace(held_by=lambda pid: next(held)))
    footprint = Footprint()
    footprint.begin_loading("cuda")
    footprint.look("cuda")
    assert footprint.peaks("cuda")["device_memory_bytes"] == 2**27
