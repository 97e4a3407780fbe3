"""Sizes as users write them: whole numbers, and axes of their own such as `seq_len=32,128`."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from typing import Any

from pytest_ngraph.case import RESERVED
from pytest_ngraph.errors import UsageError

TAKE_SIZES = "functions (package.module:function), hf:NAME, torchvision:NAME and ONNX files"
"""The workloads that have axes of their own, in words."""


def parse_size_name(name: object) -> str:
    """Return the name of an axis of the user's own. Raises `UsageError` for one that an id could not show."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][\w.]*", name):
        raise UsageError(f"size {name!r} is not a name such as 'seq_len': letters, digits, dots and underscores.")
    if name in RESERVED:
        raise UsageError(
            f"size {name!r}: an argument of the mark has that name. Give {RESERVED[name]}=... instead of a size."
        )
    return name


def parse_whole(name: str, value: Any) -> int:
    """Return a whole number from 1 up, given as text or as any integer type. `name` says what it is in messages."""
    number = int(value) if isinstance(value, str) and re.fullmatch(r"\s*\d{1,9}\s*", value) else value
    try:
        whole = 0 if isinstance(number, bool) else operator.index(number)
    except TypeError:
        whole = 0
    if whole < 1:
        raise UsageError(f"{name} {value!r} is not a whole number from 1 up.")
    return whole


def listed_sizes(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Read values of `--size`, `seq_len=32,128`, and return those of each axis, in order and once each."""
    found: dict[str, dict[int, None]] = {}
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not values:
            raise UsageError(f"--size={text}: write an axis and its sizes, such as seq_len=32,128.")
        own = found.setdefault(parse_size_name(name), {})
        own.update((parse_whole(f"size {name}", value), None) for value in values.split(","))
    return {name: tuple(own) for name, own in found.items()}
