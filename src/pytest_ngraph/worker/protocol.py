"""The messages of a worker, as its parent reads them. What a compiler wrote in between is not a message."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, get_args

from pytest_ngraph.record import FailureKind, Phase


class PhaseBegun(NamedTuple):
    phase: Phase


class Progressed(NamedTuple):
    text: str


class Done(NamedTuple):
    answer: dict[str, Any]


class Refused(NamedTuple):
    reason: str


class Failed(NamedTuple):
    kind: FailureKind
    message: str


Message = PhaseBegun | Progressed | Done | Refused | Failed


def parse(line: bytes) -> Message | None:
    """Return the message in a line; None if the line is not a message."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match data:
        case {"phase": str() as phase} if phase in get_args(Phase):
            return PhaseBegun(phase)  # type: ignore[arg-type]  # just checked
        case {"progress": str() as text}:
            return Progressed(text)
        case {"done": dict() as answer}:
            return Done(answer)
        case {"unsupported": str() as reason}:
            return Refused(reason)
        case {"failed": {"kind": str() as kind, "message": str() as message}} if kind in get_args(FailureKind):
            return Failed(kind, message)  # type: ignore[arg-type]  # just checked
    return None
