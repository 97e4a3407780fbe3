"""A compiler whose compiled models are fast or slow by luck, and counts its compiles in the file `LUCKY`."""

import os
import time
from pathlib import Path
from typing import ClassVar

import mine

SECONDS = (0.001, 0.0015, 0.0015, 0.001)
"""Of the models, in the order in which they are compiled: base and head of the first launch, then of the next."""


class Settled(mine.Exact):
    """Does not say that it searches."""

    def compile(self, artifact, target, folder):
        count = Path(os.environ["LUCKY"])
        with count.open("a") as file:
            file.write(f"{target.draw}\n")
        number = len(count.read_text().splitlines()) - 1
        (folder / "compiled").write_text(str(SECONDS[number % len(SECONDS)]))

    def load(self, artifact, target, folder):
        seconds = float((folder / "compiled").read_text())
        return mine.Model(artifact.reference(), lambda: time.sleep(seconds))


class Lucky(Settled):
    """Says that it searches."""

    searches: ClassVar = True
