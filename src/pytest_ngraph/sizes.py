"""What users type, as numbers: shares, times, whole numbers, and axes of their own such as `seq_len=32,128`."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from typing import Any

from pytest_ngraph.case import RESERVED
from pytest_ngraph.errors import UsageError
from pytest_ngraph.wording import number_in, seconds_in

TAKE_SIZES = "functions (package.module:function), hf:NAME, torchvision:NAME and ONNX files"
"""The workloads that have axes of their own, in words."""


def parse_size_name(name: object) -> str:
    """Return the name of an axis of the user's own. Raises `UsageError` for one that an id could not show."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][\w.]*", name):
        raise UsageError(
            f"size {name!r} is not a name such as 'seq_len'. Use letters, digits, dots and underscores, beginning with "
            "a letter or an underscore."
        )
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


def parse_number(text: str, *, or_zero: bool = False) -> float:
    """Return a number above 0, or 0 where that is allowed."""
    value = number_in(text)
    if value < 0 or (value == 0 and not or_zero):
        raise UsageError(f"{text!r} is not a number {'from 0 up' if or_zero else 'above 0'}.")
    return value


def parse_share(text: str) -> float:
    """Return a share above 0 and below 1: `5%` or `0.05`."""
    value = number_in(text)
    if not 0 < value < 1:
        raise UsageError(f"{text!r} is not a share above 0 and below 1. Write it as 5% or 0.05.")
    return value


def parse_seconds(text: str, *, or_zero: bool = False) -> float:
    """Return the seconds of `20ms`, `2s` or `5min` above 0, or 0 where that is allowed."""
    value = seconds_in(text)
    if value < 0 or (value == 0 and not or_zero):
        above = "from 0 up" if or_zero else "above 0"
        raise UsageError(f"{text!r} is not a time {above}. Write it as 20ms, 2s or 5min.")
    return value


def parse_count(text: str, *, least: int = 1) -> int:
    """Return a whole number from `least` up."""
    if not (text.strip().isascii() and text.strip().isdecimal()) or int(text) < least:
        raise UsageError(f"{text!r} is not a whole number from {least} up.")
    return int(text)


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
