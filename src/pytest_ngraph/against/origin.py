"""Where a base comes from, and which cases it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.case import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an origin has for the head's cases.

    Attributes:
        bases: for each case of the head that has one, the base's case.
        home: as in `Base`.
        missing: cases that only the base has.
        problem: of finding the base's cases, in one line; else empty.
        note: a sentence for the end of the summary, on what is not compared; else empty.
        broken: why the base's cases for some of the head's tests are not known; else empty.
        instead_of: as in `Base`.
        own_path: as in `Base`.
        at_base: as in `Base`.
        measures_equals: as in `Base`.
    """

    bases: Mapping[Case, Case]
    home: Home
    missing: Sequence[Case] = ()
    problem: str = ""
    note: str = ""
    broken: str = ""
    instead_of: tuple[Path, Path] | None = None
    own_path: Sequence[Path] = ()
    at_base: Callable[[Case], Case] = lambda case: case
    measures_equals: bool = False


class Origin(Protocol):
    """Where a base comes from.

    Attributes:
        has_own_libraries: whether the base may have libraries that this environment lacks.
    """

    has_own_libraries: bool

    @property
    def name(self) -> str:
        """The base, as shown to users: `main at 1a2b3c4`."""
        ...

    @property
    def identity(self) -> str:
        """What distinguishes it from every other base; once it changes, earlier comparisons are void."""
        ...

    @property
    def description(self) -> str:
        """Base and head, in one line."""
        ...

    def open(self, heads: Sequence[tuple[str, Case]]) -> Found:
        """Find the base's case for each of the head's cases, which come with their node ids."""
        ...

    def close(self) -> None:
        """Remove what `open` made."""
        ...
