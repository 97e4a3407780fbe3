"""Words for numbers."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 case`, `2,000 cases`. plural: where it is not the noun with an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
