"""Workloads that need no framework, and compilers that harm their process as real compilers have been seen to do."""

import contextlib
import fcntl
import hashlib
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
from mine import Exact, Model

from pytest_ngraph.artifact import Artifact, save_arrays
from pytest_ngraph.errors import Unsupported

NUMBERS = Path(__file__).with_name("numbers.txt")


class Plain:
    """The family of workloads `plain...`: a few numbers in, the same numbers out.

    They are those of `plain....txt` beside this file, or of `numbers.txt`, which may name another file, also by an
    environment variable.
    """

    priority = 1

    def owns(self, name):
        return name.startswith("plain")

    def check(self, case):
        pass

    def build(self, case):
        raise Unsupported("there is no module")

    def export(self, case, folder):
        files = [file for file in (NUMBERS.with_name(f"{case.workload}.txt"), NUMBERS) if file.exists()]
        numbers = os.path.expandvars(files[0].read_text() if files else "1 2 3")
        if numbers.endswith(".txt"):
            numbers = (NUMBERS.parent / numbers).read_text()
        if numbers == "hang":
            time.sleep(3600)
        if numbers == "elsewhere":
            raise Unsupported("its library is not installed here")
        values = np.tile(np.array([float(each) for each in numbers.split()]), (case.batch_size, 1))
        save_arrays(folder / "inputs.npz", [values])
        save_arrays(folder / "reference.npz", [values])
        return Artifact(folder=folder, case=case, digest=hashlib.sha256(values.tobytes()).hexdigest())


class Ticks:
    """A stopwatch with simulated time: each call takes one millisecond of it, and hardly any real time."""

    def __init__(self):
        self.calls = 0

    def start(self):
        self.calls = 0

    def stop(self):
        return self.calls / 1000


class Instant(Exact):
    """Takes hardly any time to measure, so that what remains is the overhead."""

    def load(self, artifact, target, folder):
        ticks = Ticks()

        def tick():
            ticks.calls += 1

        model = Model(artifact.reference(), tick)
        model.stopwatch = ticks
        return model


class Aborts(Exact):
    def load(self, artifact, target, folder):
        os.abort()


class Exclusive(Exact):
    """Raises where another process has a model of it loaded, or is about to."""

    held: ClassVar = []

    def compile(self, artifact, target, folder):
        self.held.append(Path("held").open("w"))  # noqa: SIM115 (closed with the model)
        fcntl.flock(self.held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(0.2)
        super().compile(artifact, target, folder)

    def load(self, artifact, target, folder):
        model = super().load(artifact, target, folder)
        model.close = self.held.pop().close
        return model


class KilledFromOutside(Exact):
    def run(self):
        os.kill(os.getpid(), signal.SIGKILL)


class Stops(Exact):
    def load(self, artifact, target, folder):
        os.kill(os.getpid(), signal.SIGSTOP)


class HangsVerifying(Exact):
    def load(self, artifact, target, folder):
        model = super().load(artifact, target, folder)
        model.outputs = lambda: time.sleep(3600)
        return model


class HangsWarmingUp(Exact):
    def run(self):
        time.sleep(3600)


class HangsMeasuring(Exact):
    """Hangs after its warm-up, which for such long calls is a first call and three windows of one call."""

    def load(self, artifact, target, folder):
        calls = iter(range(10**9))
        return Model(artifact.reference(), lambda: time.sleep(3600 if next(calls) > 3 else 0.5))


class WrongOnceWarm(Exact):
    """Right only in its first two calls, like a model that specializes itself for the inputs it has seen."""

    def load(self, artifact, target, folder):
        calls = itertools.count()
        model = super().load(artifact, target, folder)
        model._run = lambda: next(calls) == 1 and model._outputs.__setitem__(0, model._outputs[0] + 0.01)
        return model


class HangsClosing(Exact):
    def load(self, artifact, target, folder):
        model = super().load(artifact, target, folder)
        model.close = lambda: time.sleep(3600)
        return model


class RaisesClosing(Exact):
    def load(self, artifact, target, folder):
        model = super().load(artifact, target, folder)
        model.close = lambda: [][0]
        return model


class Floods(Exact):
    """Writes 200 MB to each of standard output and standard error."""

    def compile(self, artifact, target, folder):
        super().compile(artifact, target, folder)
        block = b"x" * 10**6
        for _ in range(200):
            os.write(1, block)
            os.write(2, block)


class Babbles(Exact):
    """Writes to every open descriptor, including that of the worker's answers."""

    def compile(self, artifact, target, folder):
        for descriptor in range(3, 30):
            with contextlib.suppress(OSError):
                os.write(descriptor, b"no message\n")


class LeavesChildren(Exact):
    def compile(self, artifact, target, folder):
        super().compile(artifact, target, folder)
        command = [sys.executable, "-c", "import time; time.sleep(3600)"]
        subprocess.Popen(command)
        subprocess.Popen(command, start_new_session=True)


class Forks(Exact):
    """Forks a child, which holds everything open that its parent has open."""

    def compile(self, artifact, target, folder):
        super().compile(artifact, target, folder)
        if not os.fork():
            time.sleep(3600)


class ForksAndCrashes(Forks):
    def compile(self, artifact, target, folder):
        super().compile(artifact, target, folder)
        os.kill(os.getpid(), signal.SIGSEGV)


class Asks(Exact):
    def compile(self, artifact, target, folder):
        input("Trust this repository? ")


class LeavesThreads(Exact):
    def compile(self, artifact, target, folder):
        super().compile(artifact, target, folder)
        threading.Thread(target=time.sleep, args=(3600,)).start()


class Wanders(Exact):
    """Changes everything that it can change in its process."""

    def compile(self, artifact, target, folder):
        super().compile(artifact, target, folder)
        os.chdir("/")
        os.environ.clear()
        random.seed(1)
        np.random.seed(1)
        sys.path.clear()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


class ClosesDescriptors(Exact):
    def load(self, artifact, target, folder):
        os.closerange(0, 1000)


class DiesWithItsRun(Exact):
    """Kills the process that started its worker."""

    def load(self, artifact, target, folder):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(3600)


class TakesItsDevice(Exact):
    """Kills the device's process, which is the grandparent of its worker."""

    def load(self, artifact, target, folder):
        status = Path(f"/proc/{os.getppid()}/status").read_text()
        os.kill(int(status.split("PPid:")[1].split()[0]), signal.SIGKILL)
        time.sleep(3600)
