"""Where a base comes from, and what it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_ngraph.bench.process import Home
from pytest_ngraph.case import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an origin has.

    bases: for each case of the head that has one, the base's case. missing: cases that only the base has.
    problem: of finding them, in one line. The others: as in `Base`.
    """

    bases: Mapping[Case, Case]
    home: Home
    missing: Sequence[Case] = ()
    problem: str = ""
    instead_of: tuple[Path, Path] | None = None
    at_base: Callable[[Case], Case] = lambda case: case
    measures_equals: bool = False


class Origin(Protocol):
    """Where a base comes from."""

    @property
    def name(self) -> str:
        """As people read it: `main at 1a2b3c4`."""
        ...

    @property
    def identity(self) -> str:
        """All that tells it from another: where it changes, what was compared with it does not stand."""
        ...

    @property
    def description(self) -> str:
        """Base and head, in one line."""
        ...

    def open(self, heads: Sequence[tuple[str, Case]]) -> Found:
        """Find what each of the head's cases, given with their node ids, is compared with."""
        ...

    def close(self) -> None:
        """Remove what `open` made."""
        ...
