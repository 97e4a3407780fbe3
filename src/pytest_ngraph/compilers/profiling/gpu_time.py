"""The time of a GPU's kernels, on the timeline of the thread that launched them.

A call returns before the GPU has done its work, so the length of a span says little. The profiler has both: the moment
of each launch, and how long the kernel took. A span's seconds become those of the kernels that were launched in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pytest_ngraph.compilers.profiling.timeline import Span, nested

TEMPLATE = re.compile(r"[<(].*", re.DOTALL)
"""What follows the name of a C++ function: its template's arguments, and its own."""


class Launch(NamedTuple):
    """A kernel that was launched.

    Attributes:
        at: when, in nanoseconds, on the clock of the thread that did.
        nanoseconds: how long the GPU worked on it.
    """

    kernel: str
    at: int
    nanoseconds: int


def launches(events: Sequence[Any]) -> list[Launch]:
    """Return the launches among the events of PyTorch's profiler (`_KinetoEvent`).

    A kernel has the correlation id of the call of the driver that launched it. Copies of our own spans on the GPU's
    timeline have no operator that they are linked to.
    """
    on_host = [event for event in events if _is_on_host(event)]
    launched = {event.correlation_id(): event.start_ns() for event in on_host if event.name().startswith("cu")}
    return [
        Launch(plain(event.name()), launched[event.correlation_id()], event.duration_ns())
        for event in events
        if event.linked_correlation_id() and not _is_on_host(event) and event.correlation_id() in launched
    ]


def timed_by_kernels(spans: Iterable[Span], launched: Iterable[Launch]) -> list[Span]:
    """Return the outermost spans, with a span for each kernel, on a clock that runs while kernels do."""
    kernels = [(Span(each.kernel, each.at, each.at), each.nanoseconds) for each in launched]
    took = {id(span): nanoseconds for span, nanoseconds in kernels}

    def timed(span: Span, begins: int) -> Span:
        inner, ends = in_turn(span.inner, begins)
        return Span(span.name, begins, ends + took.get(id(span), 0), inner)

    def in_turn(spans: Iterable[Span], begins: int) -> tuple[list[Span], int]:
        found: list[Span] = []
        for span in spans:
            found.append(timed(span, begins))
            begins = found[-1].end
        return found, begins

    return in_turn(nested([*spans, *(span for span, _ in kernels)]), 0)[0]


def plain(kernel: str) -> str:
    """Return the name of a kernel without namespaces, templates and arguments."""
    name = kernel.replace("(anonymous namespace)", "").removeprefix("void ")
    return TEMPLATE.sub("", name).rpartition("::")[2].strip() or kernel


def _is_on_host(event: Any) -> bool:
    return bool(event.device_type().name == "CPU")
