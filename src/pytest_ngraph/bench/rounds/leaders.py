"""The leaders of a group: the arms for which more than rounds is measured, where that is not worth it for all."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from statistics import median
from typing import Protocol

from pytest_ngraph.case import Case, of_different_compilers
from pytest_ngraph.record import Round


class HasRounds(Protocol):
    """What is read of an arm."""

    @property
    def case(self) -> Case: ...

    @property
    def rounds(self) -> list[Round]: ...

    @property
    def can_run(self) -> bool: ...


def leading(arms: Iterable[HasRounds], asked: Collection[Case], most: int | None) -> Collection[Case]:
    """Return for which of the cases asked for more is measured.

    Args:
        arms: arms of a group, after their rounds.
        asked: cases of which more is asked for.
        most: how many of them: the fastest by the medians of their rounds, each of another compiler; None for all.
    """
    if most is None:
        return asked
    able = [arm for arm in arms if arm.can_run and arm.rounds and arm.case in asked]
    able.sort(key=lambda arm: median(each.sample_s for each in arm.rounds))
    return of_different_compilers(arm.case for arm in able)[:most]
