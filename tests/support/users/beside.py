"""Compilers that fail beside another model, or in every process but the first, as some do for lack of memory."""

import os
import traceback
from typing import ClassVar

from faulty import NUMBERS, Aborts
from mine import Exact


class Lonely(Exact):
    """Fails to load a second model into its process."""

    models: ClassVar = []

    def load(self, artifact, target, folder):
        self.make_room()
        model = super().load(artifact, target, folder)
        self.models.append(model)
        model.close = lambda: self.models.remove(model)
        return model

    def make_room(self):
        if self.models:
            raise MemoryError("there is room for one model")


class LonelyMeasuring(Lonely):
    """Loads two models, and dies when they run in turn."""

    def make_room(self):
        pass

    def run(self):
        if len(self.models) > 1 and "compare" in (frame.name for frame in traceback.extract_stack()):
            os.abort()
        super().run()


class LonelyMeasuringElsewhere(LonelyMeasuring):
    """The same, in every process except the first that runs it."""

    def run(self):
        (super() if is_elsewhere() else super(Lonely, self)).run()


def is_elsewhere():
    """Whether this process is another than the first that asked."""
    first = NUMBERS.with_name("loaded-first")
    if not first.exists():
        first.write_text(str(os.getpid()))
    return first.read_text() != str(os.getpid())


class AbortsElsewhere(Aborts):
    """Aborts in every process except the first that loads it."""

    def fail(self):
        os.abort()

    def load(self, artifact, target, folder):
        if is_elsewhere():
            self.fail()
        return Exact.load(self, artifact, target, folder)


class AbortsMeasuringElsewhere(Exact):
    """Dies when it is timed, alone or beside another, in every process except the first that runs it."""

    def run(self):
        timed = {"compare", "measure"} & {frame.name for frame in traceback.extract_stack()}
        if timed and is_elsewhere():
            os.abort()
        super().run()


class NoRoomElsewhere(AbortsElsewhere):
    """Finds no room in every process except the first that loads it."""

    def fail(self):
        raise MemoryError("there is no room")
