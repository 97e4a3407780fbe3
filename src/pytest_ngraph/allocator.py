"""The memory that a process frees: kept for its next calls while a model is timed, given back before and after.

glibc gives large blocks back to the kernel as they are freed, or keeps them: that depends on what its heap looked like
when the model was loaded. PyTorch frees its activations in every call. Where they went back, the next call has the
kernel hand out and clear each page anew: the same case took up to 2.5 times as long in one process as in another, each
within 1 % of itself.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

M_TRIM_THRESHOLD = -1
M_MMAP_MAX = -4
SETS_IT = ("GLIBC_TUNABLES", "MALLOC_")
"""What the names of variables begin with by which users set glibc's allocator."""

KEEPING = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**62)}
"""The environment of a process that is to do the same from its beginning."""


def keep_freed_memory() -> None:
    """From now on, in this process. Where the environment sets the allocator, and where it is not glibc's, nothing."""
    if any(name.startswith(SETS_IT) for name in os.environ):
        return
    with suppress(AttributeError, OSError):  # another system's allocator
        libc = ctypes.CDLL(None)
        libc.mallopt(M_TRIM_THRESHOLD, -1)
        libc.mallopt(M_MMAP_MAX, 0)


def give_back() -> None:
    """What is free now, to the kernel: what compiling took is not to be missing while other models run."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
