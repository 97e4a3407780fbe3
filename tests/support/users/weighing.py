"""A compiler for the workloads of `faulty.py` whose models take exactly as long as their numbers say."""

import time

from faulty import Ticks
from mine import Exact, Model


class Weighs(Exact):
    """Takes a millisecond for every 100 that the numbers add up to."""

    def load(self, artifact, target, folder):
        ticks = Ticks()
        each = float(artifact.reference()[0][0].sum()) / 100

        def tick():
            time.sleep(0.001)  # a launch takes its seconds all the same, and would have room for millions of calls
            ticks.calls += each

        model = Model(artifact.reference(), tick)
        model.stopwatch = ticks
        return model


class WeighsAsInstalled(Weighs):
    """Weighs as many times as much as an installed library says."""

    def load(self, artifact, target, folder):
        import heavy

        model = super().load(artifact, target, folder)
        run = model._run

        def runs():
            for _ in range(heavy.weight()):
                run()

        model._run = runs
        return model
