"""A compiler a minority of whose calls is slow."""

import itertools

from faulty import Ticks
from mine import Exact, Model


class Stutters(Exact):
    """Takes a millisecond of simulated time a call, and every 50th time as many as its first number says.

    In real time it sleeps, for a launch of the gate goes on until a second of that is over.
    """

    def load(self, artifact, target, folder):
        ticks = Ticks()
        calls = itertools.count(1)
        slow = float(artifact.reference()[0].flat[0])

        def tick():
            ticks.calls += 1 if next(calls) % 50 else slow
            self.run()

        model = Model(artifact.reference(), tick)
        model.stopwatch = ticks
        return model
