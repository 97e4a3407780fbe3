"""Launches of compilers that search: each compiles both arms for itself, so that luck differs from launch to launch.

One compile of such a compiler is one draw. If every launch loaded the same two compiled models, a lucky draw would look
like an improvement, and an unlucky one like a regression, however many launches confirmed it.
"""

from __future__ import annotations

import dataclasses
import random
import shutil
from collections.abc import Mapping
from pathlib import Path

from pytest_ngraph.comparison import BASE, HEAD
from pytest_ngraph.settings import Settings

Draws = Mapping[str, int]
"""The draw of each arm, as in `Target.draw`."""
NO_DRAWS: Draws = {HEAD: 0, BASE: 0}
"""For compilers that do not search, and where what was compiled before may be used."""
MOST = 2**30
"""Draws are numbers from 1 to this, so that they seed generators of 32 bits."""


class DrawingLaunches:
    """Gives each launch what it compiles with.

    Launches that draw have a compile cache of their own, from which the second build of a launch takes what the first
    has compiled. Nothing else ever takes it, because no draw comes twice.

    Args:
        settings: the settings of launches that do not draw.
        folder: where that cache is put.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._random = random.SystemRandom()

    def launch(self, *, draws: bool) -> tuple[Settings, Draws]:
        """Return the settings of the next launch, and the draw of each arm.

        Args:
            draws: whether it compiles both arms for itself.
        """
        if not draws:
            return self._settings, NO_DRAWS
        settings = dataclasses.replace(self._settings, cache=self._folder)
        return settings, {arm: self._random.randint(1, MOST) for arm in (HEAD, BASE)}

    def forget(self) -> None:
        """Remove what launches that draw have compiled."""
        shutil.rmtree(self._folder, ignore_errors=True)
