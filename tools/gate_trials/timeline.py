"""What a bench does at each moment of a run: a pytest plugin that notes the spans of its requests.

    NGRAPH_TIMELINE=FILE pytest -p timeline ...

The file has a JSON list of spans, `[kind, start, end]`, in seconds since the start of the plugin, with the kinds of
`KINDS`. Spans may overlap, since workers run side by side.
"""

from __future__ import annotations

import functools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

KINDS = {
    "bursts": "timing base and head",
    "warming up": "calling a model until its times are steady",
    "verifying": "comparing outputs with the reference",
    "compiling": "compiling a model and loading it",
    "loading": "loading a model that was compiled before",
    "exporting": "building networks and exporting them",
    "waiting": "waiting for cores, and for other measurements",
    "importing": "importing libraries in new processes",
    "starting": "starting processes",
    "ending": "ending processes",
    "releasing": "freeing models",
    "the rest": "pytest itself, git, statistics, writing records",
}
"""Kinds of spans with what they are. Where spans overlap, the first of these counts."""
PHASES = {"warm-up": "warming up", "verify": "verifying"}
REQUESTS = {
    "export": "exporting",
    "release": "releasing",
    "ready": "importing",
    "compare": "bursts",
    "measure": "bursts",
}
VARIABLE = "NGRAPH_TIMELINE"


class Timeline:
    """Collects spans, in any thread."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, float, float]] = []
        self._start_s = time.monotonic()
        self._lock = threading.Lock()

    def now(self) -> float:
        return time.monotonic() - self._start_s

    def add(self, kind: str, start_s: float, end_s: float) -> None:
        with self._lock:
            self.spans.append((kind, start_s, end_s))

    @contextmanager
    def span(self, kind: str) -> Iterator[None]:
        """Note the time that the block takes."""
        start_s = self.now()
        try:
            yield
        finally:
            self.add(kind, start_s, self.now())


def seconds(spans: list[tuple[str, float, float]]) -> dict[str, float]:
    """Return the seconds of each kind, each moment counted once, for the first of `KINDS` that it has."""
    moments = sorted({moment for _, start, end in spans for moment in (start, end)})
    found = dict.fromkeys(KINDS, 0.0)
    order = list(KINDS)
    for start, end in pairwise(moments):
        running = [order.index(kind) for kind, begun, ended in spans if begun <= start and end <= ended]
        if running:
            found[order[min(running)]] += end - start
    return found


def pytest_configure() -> None:
    """Wrap what the bench calls."""
    if VARIABLE not in os.environ:
        return
    from pytest_ngraph.bench.processes.forked import ForkServer
    from pytest_ngraph.bench.processes.free_cores import FreeCores
    from pytest_ngraph.bench.processes.process import WorkerProcess

    timeline = Timeline()
    for owner, name, kind in (
        (WorkerProcess, "__init__", "starting"),
        (WorkerProcess, "close", "ending"),
        (ForkServer, "__init__", "starting"),
        (ForkServer, "fork", "importing"),
        (ForkServer, "close", "ending"),
        (FreeCores, "wait", "waiting"),
        (FreeCores, "count_free", "waiting"),
    ):
        setattr(owner, name, _noted(getattr(owner, name), kind, timeline))
    WorkerProcess.request = _noted_request(WorkerProcess.request, timeline)  # type: ignore[method-assign]
    _OPEN.append(timeline)


_OPEN: list[Timeline] = []


def pytest_unconfigure() -> None:
    """Write the spans, with one for the whole run."""
    for timeline in _OPEN:
        timeline.add("the rest", 0.0, timeline.now())
        Path(os.environ[VARIABLE]).write_text(json.dumps(timeline.spans))


def _noted(function: Callable[..., Any], kind: str, timeline: Timeline) -> Callable[..., Any]:
    @functools.wraps(function)
    def noted(*arguments: Any, **named: Any) -> Any:
        with timeline.span(kind):
            return function(*arguments, **named)

    return noted


def _noted_request(request: Callable[..., Any], timeline: Timeline) -> Callable[..., Any]:
    @functools.wraps(request)
    def noted(worker: Any, do: str, *, on_phase: Any = None, **named: Any) -> Any:
        begun: list[tuple[str, float]] = []
        start_s = timeline.now()

        def note(phase: str) -> None:
            begun.append((phase, timeline.now()))
            if on_phase is not None:
                on_phase(phase)

        answer: dict[str, Any] = {}
        try:
            answer = request(worker, do, on_phase=note, **named)
        finally:
            _add(timeline, do, start_s, begun, answer)
        return answer

    return noted


def _add(timeline: Timeline, do: str, start_s: float, begun: list[tuple[str, float]], answer: dict[str, Any]) -> None:
    """Add the spans of one request."""
    end_s = timeline.now()
    if do != "prepare":
        # What a request for bursts takes besides them is waiting for threads that still spin.
        timeline.add("waiting" if REQUESTS[do] == "bursts" else REQUESTS[do], start_s, end_s)
        if REQUESTS[do] == "bursts" and answer:
            timeline.add("bursts", end_s - answer["wall_s"], end_s)
        return
    ends = [moment for _, moment in begun[1:]] + [end_s]
    for (phase, start), end in zip(begun, ends, strict=True):
        if phase == "compile":
            loading = "loading" if answer.get("cached_at") else "compiling"
            timeline.add(loading, max(start, end - answer.get("load_s", end - start)), end)
            timeline.add("importing", start, end)
        elif phase in PHASES:
            timeline.add(PHASES[phase], start, end)
