"""Models whose calls return before their work is done, timed by the host's clock."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ngraph.artifact import Array
from pytest_ngraph.clock import WallStopwatch
from pytest_ngraph.compilers import InHostTime


class Late:
    """Records what happens. Its stopwatch waits for the work, as CUDA's does."""

    concurrency = 4
    facts: dict[str, str] = {"provider": "late"}  # noqa: RUF012 (as the protocol has it)

    def __init__(self) -> None:
        self.events: list[str] = []
        self.stopwatch = self

    def __call__(self) -> None:
        self.events.append("issued")

    def start(self) -> None:
        self.events.append("start")

    def stop(self) -> float:
        self.events.append("done")
        return 0.5

    def outputs(self) -> Sequence[Array]:
        return ()

    def close(self) -> None:
        self.events.append("closed")


def test_a_call_returns_when_its_work_is_done() -> None:
    late = Late()
    model = InHostTime(late)
    model()
    assert late.events == ["start", "issued", "done"]
    assert isinstance(model.stopwatch, WallStopwatch)  # the host's clock, not the device's
    assert (model.concurrency, model.facts, model.outputs()) == (4, {"provider": "late"}, ())
    model.close()
    assert late.events[-1] == "closed"
