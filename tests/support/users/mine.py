"""What a user might write: workloads, a compiler that works, and compilers that fail in many ways."""

import os
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from pytest_ngraph.clock import WallStopwatch


def network(batch_size):
    import torch

    return torch.nn.Linear(4, 3), torch.ones(batch_size, 4)


def text():
    return "not a module"


class Model:
    concurrency = 1

    def __init__(self, outputs, run=lambda: None):
        self._outputs = outputs
        self._run = run
        self.stopwatch = WallStopwatch()
        self.facts = {"version": "1"}

    def __call__(self):
        self._run()
        return self._outputs

    def outputs(self):
        return self._outputs

    def close(self):
        pass


@dataclass(frozen=True)
class Exact:
    """Gives the right outputs without computing them."""

    libraries: ClassVar = ()
    kinds: ClassVar = ("cpu",)
    spin: int = 0

    def compile(self, artifact, target, folder):
        (folder / "compiled").write_text("yes")

    def load(self, artifact, target, folder):
        assert (folder / "compiled").exists()
        return Model(self.change(artifact.reference()), self.run)

    def change(self, outputs):
        return outputs

    def run(self):
        time.sleep(0.0005)


class Priced(Exact):
    """Costs what the workload's last output says.

    That is: seconds per call, seconds per sample in a call, seconds to compile, and MiB of memory.
    """

    def compile(self, artifact, target, folder):
        super().compile(artifact, target, folder)
        time.sleep(artifact.reference()[-1].tolist()[2])

    def load(self, artifact, target, folder):
        call_s, sample_s, _, mebibytes = artifact.reference()[-1].tolist()
        model = super().load(artifact, target, folder)
        held = []

        def run():
            if not held:  # in the first call, so as not to lengthen compiling
                held.append(np.ones(int(mebibytes * 2**20 / 8)))
            time.sleep(call_s + sample_s * artifact.case.batch_size)

        model._run = run
        return model


class CountsInNumPy(Exact):
    concurrency: ClassVar = np.int64(1)

    def load(self, artifact, target, folder):
        model = super().load(artifact, target, folder)
        model.concurrency = self.concurrency
        return model


class CountsInNothing(CountsInNumPy):
    concurrency: ClassVar = {1}


class Deep(Exact):
    """Says how many pages of memory its calls need at most, however deep the stack is."""

    def load(self, artifact, target, folder):
        from paging import most_pages

        model = super().load(artifact, target, folder)
        model.facts = {"pages": most_pages()}
        return model


class Raises(Exact):
    def compile(self, artifact, target, folder):
        raise ValueError("no such operator")


class Once(Exact):
    """Crashes the first time that it compiles in this folder."""

    def compile(self, artifact, target, folder):
        mark = Path(".crashed-once")
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGSEGV)
        super().compile(artifact, target, folder)


class Segfaults(Exact):
    def compile(self, artifact, target, folder):
        print("about to crash", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)


class SegfaultsMeasuring(Exact):
    def run(self):
        callers = (frame.name for frame in traceback.extract_stack())
        if "measure" in callers:
            os.kill(os.getpid(), signal.SIGSEGV)


class Exits(Exact):
    def compile(self, artifact, target, folder):
        os._exit(7)


class SaysExit(Exact):
    def compile(self, artifact, target, folder):
        sys.exit("bye")


class Hangs(Exact):
    def load(self, artifact, target, folder):
        time.sleep(3600)


class Hungry(Exact):
    def load(self, artifact, target, folder):
        held = []
        while True:
            held.append(np.ones(4_000_000))
            time.sleep(0.01)


class HungryElsewhere(Exact):
    """Like a compiler that runs its passes, or its tuning, in processes of its own."""

    grow = "held = []\nwhile True:\n    held.append(b'x' * 32_000_000)\n    time.sleep(0.01)\n"

    def load(self, artifact, target, folder):
        subprocess.run([sys.executable, "-c", f"import time\n{self.grow}"], start_new_session=True)


class Wrong(Exact):
    def change(self, outputs):
        return [output + 0.01 for output in outputs]


class NotANumber(Exact):
    def change(self, outputs):
        return [output * np.nan for output in outputs]


class Misshapen(Exact):
    def change(self, outputs):
        return [output.T for output in outputs]


class Absent(Exact):
    libraries: ClassVar = ("no_such_library",)
