"""Compiled models for callers who time them by the host's clock."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ngraph.artifact import Array
from pytest_ngraph.clock import Stopwatch, WallStopwatch
from pytest_ngraph.compilers.interface import CompiledModel


class InHostTime:
    """A compiled model whose calls return only when their work is done: what a caller waits for is what is timed."""

    def __init__(self, model: CompiledModel) -> None:
        self._model = model
        self._device = model.stopwatch
        self.stopwatch: Stopwatch = WallStopwatch()

    def __call__(self) -> None:
        self._device.start()
        self._model()
        self._device.stop()

    def outputs(self) -> Sequence[Array]:
        return self._model.outputs()

    @property
    def concurrency(self) -> int:
        return self._model.concurrency

    @property
    def facts(self) -> dict[str, str]:
        return self._model.facts

    def close(self) -> None:
        self._model.close()
