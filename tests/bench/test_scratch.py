"""The temporary folder of a bench."""

from __future__ import annotations

import os
import signal
import time

from pytest_ngraph.bench.scratch import Scratch


def test_it_is_removed_at_once_though_a_forked_child_holds_the_reapers_pipe() -> None:
    scratch = Scratch()
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    try:
        started = time.monotonic()
        scratch.close()
        assert time.monotonic() - started < 30
        assert not scratch.folder.exists()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
