"""A base that is the head itself: any difference that the gate sees is the machine's noise."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ngraph.against.origin import Found
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.case import Case


class FromItself:
    """Every case is its own base, and is measured beside itself."""

    name = identity = "itself"
    has_own_libraries = False
    description = "calibrating: base and head are the same code, so that any difference is noise"

    def open(self, heads: Sequence[tuple[str, Case]]) -> Found:
        return Found(bases={case: case for _, case in heads}, home=Home(), measures_equals=True)

    def close(self) -> None:
        """Do nothing: `open` makes nothing."""
