"""No process is left behind."""

from __future__ import annotations

import ctypes
import signal
import sys


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends, as all do when their process dies.

    On Linux; elsewhere the end of its input tells, later.
    """
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
