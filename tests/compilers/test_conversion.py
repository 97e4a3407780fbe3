"""The seconds of converting are those that are marked; the others are those of compiling."""

from __future__ import annotations

from itertools import count

import pytest

from pytest_ngraph.compilers import conversion


def test_what_is_marked_adds_up_and_what_is_not_marked_does_not() -> None:
    ticks = count()
    with conversion.timed(lambda: float(next(ticks))) as found:
        next(ticks)
        with conversion.converting():
            next(ticks)
        next(ticks)
        with conversion.converting():
            pass
    assert found.seconds == 2 + 1


def test_what_is_marked_twice_counts_once() -> None:
    ticks = count()
    with conversion.timed(lambda: float(next(ticks))) as found, conversion.converting(), conversion.converting():
        pass
    assert found.seconds == 1


def test_a_conversion_that_fails_counts_and_ends() -> None:
    ticks = count()
    with conversion.timed(lambda: float(next(ticks))) as found:
        with pytest.raises(ValueError, match="no such operator"), conversion.converting():
            raise ValueError("no such operator")
        with conversion.converting():
            pass
    assert found.seconds == 2


def test_outside_of_a_timed_compile_a_mark_does_nothing() -> None:
    ticks = count()
    with conversion.converting(), conversion.timed(lambda: float(next(ticks))) as found:
        pass
    assert found.seconds == 0
    assert next(ticks) == 0, "the clock was not asked"
