"""A session of ONNX Runtime whose inputs or outputs are not all tensors of numbers, so that nothing can be bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ngraph.artifact import Array
from pytest_ngraph.clock import Stopwatch, WallStopwatch
from pytest_ngraph.workloads.onnx.values import Value, leaves


class OnnxValuesModel:
    """A session that is given its inputs with every call, as ONNX Runtime's own `run` takes them."""

    concurrency = 1

    def __init__(self, session: Any, values: Mapping[str, Value], facts: dict[str, str]) -> None:
        self._session = session
        self._values = dict(values)
        self.stopwatch: Stopwatch = WallStopwatch()
        self.facts = facts

    def __call__(self) -> object:
        return self._session.run(None, self._values)

    def outputs(self) -> Sequence[Array]:
        return leaves(self._session.run(None, self._values))

    def close(self) -> None:
        del self._session, self._values
