"""Spans on the timeline of one thread, nested as calls are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Span:
    """Something that took time.

    Attributes:
        start: in nanoseconds.
        end: likewise.
        inner: what happened in it, in order.
    """

    name: str
    start: int
    end: int
    inner: list[Span] = field(default_factory=list)

    @property
    def nanoseconds(self) -> int:
        return self.end - self.start

    @property
    def seconds(self) -> float:
        return self.nanoseconds / 1e9


def nested(spans: Iterable[Span]) -> list[Span]:
    """Return the outermost spans, each with those in it."""
    outermost: list[Span] = []
    open_spans: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        while open_spans and open_spans[-1].end <= span.start:
            open_spans.pop()
        (open_spans[-1].inner if open_spans else outermost).append(span)
        open_spans.append(span)
    return outermost
