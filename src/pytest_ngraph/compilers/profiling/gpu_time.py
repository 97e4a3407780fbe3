"""The time of a GPU's kernels, on the timeline of the thread that launched them.

A call returns before the GPU has done its work, so the length of a span says little. The profiler has both: the moment
of each launch, and how long the kernel took. A span's seconds become those of the kernels that were launched in it.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pytest_ngraph.compilers.profiling.timeline import Span

TEMPLATE = re.compile(r"[<(].*", re.DOTALL)
"""What follows the name of a C++ function: its template's arguments, and its own."""


class Launch(NamedTuple):
    """A kernel that was launched.

    Attributes:
        kernel: its name, without namespaces, templates and arguments.
        by: the span of the operator that launched it.
        at: when, in nanoseconds, on the clock of the spans.
        nanoseconds: how long the GPU worked on it.
    """

    kernel: str
    by: Span
    at: int
    nanoseconds: int


def is_span(event: Any) -> bool:
    """Return whether an event of PyTorch's profiler (`_KinetoEvent`) is a span of a thread.

    Others are kernels, copies of our own spans on the GPU's timeline, and calls of the driver, which are linked to the
    operator that made them.
    """
    return _is_on_host(event) and not event.linked_correlation_id()


def launches(events: Sequence[Any], spans: Iterable[tuple[Any, Span]]) -> list[Launch]:
    """Return the kernels that these spans launched, by the operator that each is linked to.

    Args:
        events: all events.
        spans: spans with their events.
    """
    of: dict[int, Span] = {}
    for event, span in sorted(spans, key=lambda each: each[1].start):
        of.setdefault(event.correlation_id(), span)
    calls = {each.correlation_id(): each for each in events if _is_on_host(each) and each.linked_correlation_id()}
    return [
        Launch(plain(each.name()), by, calls[each.correlation_id()].start_ns(), each.duration_ns())
        for each in events
        if not _is_on_host(each) and each.correlation_id() in calls and (by := of.get(each.linked_correlation_id()))
    ]


def timed_by_kernels(outermost: Iterable[Span], launched: Iterable[Launch]) -> list[Span]:
    """Return the outermost spans, with a span for each kernel, on a clock that runs while kernels do."""
    took: dict[int, int] = {}
    for each in launched:
        kernel = Span(each.kernel, each.at, each.at)
        took[id(kernel)] = each.nanoseconds
        insort(each.by.inner, kernel, key=lambda span: span.start)

    def timed(span: Span, begins: int) -> Span:
        inner, ends = in_turn(span.inner, begins)
        return Span(span.name, begins, ends + took.get(id(span), 0), inner)

    def in_turn(spans: Iterable[Span], begins: int) -> tuple[list[Span], int]:
        found: list[Span] = []
        for span in spans:
            found.append(timed(span, begins))
            begins = found[-1].end
        return found, begins

    return in_turn(outermost, 0)[0]


def plain(kernel: str) -> str:
    """Return the name of a kernel without namespaces, templates and arguments."""
    name = kernel.replace("(anonymous namespace)", "").removeprefix("void ")
    return TEMPLATE.sub("", name).rpartition("::")[2].strip() or kernel


def _is_on_host(event: Any) -> bool:
    return bool(event.device_type().name == "CPU")
