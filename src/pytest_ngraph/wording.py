"""Words for numbers and paths, numbers in words, and numbers that stand for words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
"""Seconds of each unit of time."""

UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys or that reorder a line; not newlines and tabs."""
PLACE = re.compile(r"Exception from \S+:\d+:")


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 case`, `2,000 cases`. Give `plural` where it is not the noun with an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int) -> str:
    """Return `a, b, c`; of more than `most` names only the first: `a, b, c and 2 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def enumerated(names: Sequence[str], most: int) -> str:
    """Return `a, b and c`; of more than `most` names only the first, as `listed` does."""
    if not 1 < len(names) <= most:
        return listed(names, most)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the second text of each pair by the first, each once, in their order."""
    found: dict[str, dict[str, None]] = {}
    for key, text in pairs:
        found.setdefault(key, {})[text] = None
    return {key: list(texts) for key, texts in found.items()}


def changes(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """Return what differs, each as `torch 2.6.0 -> 2.7.1`; what one side lacks, or has as an empty text, is `none`."""
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return [f"{name} {_or_none(before.get(name))} -> {_or_none(now.get(name))}" for name in names]


def _or_none(value: object) -> object:
    return "none" if value in (None, "") else value


def seen_from(here: Path, path: Path) -> str:
    """Return a path as shown to users: relative to `here` where it lies below it, else absolute."""
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def number_in(text: str) -> float:
    """Return the number that a text is, `5%` as 0.05; below 0 where it is none from 0 up."""
    match = re.fullmatch(r"((?:\d+\.?\d*|\.\d+)(?:e-?\d+)?)\s*(%?)", text.strip())
    return float(match[1]) / (100 if match[2] else 1) if match else -1.0


def seconds_in(text: str) -> float:
    """Return the seconds of `20ms`, `2s` or `5min`; below 0 where it is no time: only 0 needs no unit."""
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([a-z]*)", text.strip())
    if match and not match[2] and float(match[1]) == 0:
        return 0.0
    return float(match[1]) * TIMES[match[2]] if match and match[2] in TIMES else -1.0


def significant(value: float, digits: int) -> float:
    """Return a number rounded to that many significant digits."""
    return float(f"{value:.{digits}g}")


class Numbered(dict[str, int]):
    """Numbers for texts, in the order in which they are first asked for. A text that repeats is then kept once."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        super().__init__((text, number) for number, text in enumerate(texts))

    def __missing__(self, text: str) -> int:
        return self.setdefault(text, len(self))


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message that says something.

    Libraries append listings and advice to theirs; OpenVINO begins with the places in its own source.
    """
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line and not PLACE.fullmatch(line)), "no message")


def visible(said: Any) -> Any:
    """Return JSON-ready data of others, in whose texts no character acts on a terminal: they are written as `\\x1b`."""
    if isinstance(said, str):
        return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), said)
    if isinstance(said, Mapping):
        return {visible(name): visible(each) for name, each in said.items()}
    if isinstance(said, (list, tuple)):
        return type(said)(visible(each) for each in said)
    return said
