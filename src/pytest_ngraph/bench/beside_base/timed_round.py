"""Time a paired round, and note what other work the kernel reports during it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pytest_ngraph.comparison import PairedRound, Quad
from pytest_ngraph.machine import contention
from pytest_ngraph.machine.throttling import Throttling

Answer = dict[str, Any]


def watched(time_quads: Callable[[], Answer | None], watch: Throttling) -> tuple[Answer, PairedRound] | None:
    """Return a worker's answer to a `compare` request and the round in it; None where there is no answer.

    Args:
        time_quads: sends the request.
        watch: what slows the machine down, as long as it is asked.
    """
    before, started = contention.read(), time.monotonic()
    answer = time_quads()
    if answer is None:
        return None
    during = contention.between(
        before,
        contention.read(),
        elapsed_s=time.monotonic() - started,
        involuntary_switches=answer["involuntary_switches"],
    )
    return answer, PairedRound(
        quads=tuple(Quad(tuple(base), tuple(head)) for base, head in answer["quads"]),
        elapsed_s=answer["wall_s"],
        pressure_percent=during.pressure_percent,
        steal_percent=during.steal_percent,
        involuntary_switches=during.involuntary_switches,
        throttled_by=", ".join(watch.now()),
    )
