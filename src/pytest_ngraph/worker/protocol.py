"""The messages between a worker and its parent, as the parent writes and reads them.

What a compiler wrote between a worker's messages is none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any, NamedTuple, cast, get_args

from pytest_ngraph.record import FailureKind, Phase
from pytest_ngraph.store import conforms

TIMES = ("convert_s", "compile_s", "compile_cores", "load_s")
"""What the answer to `prepare` says of compiling and loading, by the names of a record's fields."""
NOTHING: Mapping[str, str] = {}


class PhaseBegun(NamedTuple):
    phase: Phase


class Progressed(NamedTuple):
    text: str


class Done(NamedTuple):
    """The answer to a request, with the digests of the user's own files that it depends on, by path."""

    answer: dict[str, Any]
    read: Mapping[str, str] = NOTHING


class Refused(NamedTuple):
    """Why a request is not supported, with the digests of files as in `Done`."""

    reason: str
    read: Mapping[str, str] = NOTHING


class Failed(NamedTuple):
    """How a request failed, with the digests of files as in `Done`."""

    kind: FailureKind
    message: str
    read: Mapping[str, str] = NOTHING


Message = PhaseBegun | Progressed | Done | Refused | Failed


def send(pipe: IO[bytes] | None, message: dict[str, Any]) -> None:
    """Write a message for a child process. One that is dead is noticed when its answer is read."""
    assert pipe is not None
    with suppress(BrokenPipeError):
        pipe.write(json.dumps(message).encode() + b"\n")
        pipe.flush()


def parse(line: bytes) -> Message | None:
    """Return the message in a line; None if the line is not a message."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    noted = data.get("read") if isinstance(data, dict) else None
    read = cast("Mapping[str, str]", noted) if conforms(noted, dict[str, str]) else NOTHING
    match data:
        case {"phase": str() as phase} if phase in get_args(Phase):
            return PhaseBegun(phase)  # type: ignore[arg-type]  # just checked
        case {"progress": str() as text}:
            return Progressed(text)
        case {"done": dict() as answer}:
            return Done(answer, read)
        case {"unsupported": str() as reason}:
            return Refused(reason, read)
        case {"failed": {"kind": str() as kind, "message": str() as message}} if kind in get_args(FailureKind):
            return Failed(kind, message, read)  # type: ignore[arg-type]  # just checked
    return None
