"""Compilers that a user might write and profile: each call has two kernels."""

import os
import signal

from mine import Exact

from pytest_ngraph import Kernel, Unsupported


class Instrumented(Exact):
    def instrument(self, artifact, target, compiled):
        assert (compiled / "compiled").read_text() == "yes"
        return self

    def profile(self, calls):
        return [
            Kernel(name="one", operator="Conv", seconds=0.001, kind="jit", modules=("body",)),
            Kernel(name="two", operator="Reorder", seconds=0.002, layout=True),
        ]

    def close(self):
        pass


class RefusesProfiling(Instrumented):
    def instrument(self, artifact, target, compiled):
        raise Unsupported("it has no clock")


class DiesProfiling(Instrumented):
    def profile(self, calls):
        os.kill(os.getpid(), signal.SIGSEGV)
