"""Options of a user's own compiler, as its class declares them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar, Literal

import pytest

from pytest_ngraph import compilers
from pytest_ngraph.errors import UsageError


@dataclass(frozen=True)
class Mine:
    """Its kinds are annotated with a name that only a type checker imports."""

    level: int = 1
    libraries: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu",)  # type: ignore[name-defined]  # noqa: F821
    compile = load = None


@dataclass(frozen=True)
class Strict:
    level: int
    libraries: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[tuple[str, ...]] = ("cpu",)
    compile = load = None

    def __post_init__(self) -> None:
        if self.level > 3:
            raise ValueError("level is at most 3")


@dataclass(frozen=True)
class Typed:
    rate: float = 1.0
    most: int | None = None
    mode: Literal["fast", "exact"] | None = None
    note: str | int = ""
    libraries: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[tuple[str, ...]] = ("cpu",)
    compile = load = None


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the classes importable as the module `own_compilers`."""
    module = ModuleType("own_compilers")
    vars(module).update(Mine=Mine, Strict=Strict, Typed=Typed)
    monkeypatch.setitem(sys.modules, "own_compilers", module)


def test_without_options_no_annotation_is_read() -> None:
    compiler: object = compilers.resolve("own_compilers:Mine")
    assert compiler == Mine()


def test_types_that_only_a_type_checker_imports_are_named() -> None:
    with pytest.raises(
        UsageError, match=r"name 'Kind' is not defined. Import the types that its annotations use at mod"
    ):
        compilers.resolve("own_compilers:Mine:level=2")


@pytest.mark.parametrize(("options", "problem"), [("", "missing 1 required .*'level'"), (":level=4", "at most 3")])
def test_what_the_class_refuses_is_one_message(options: str, problem: str) -> None:
    with pytest.raises(UsageError, match=f"compiler 'own_compilers:Strict{options}' cannot be created: .*{problem}"):
        compilers.resolve(f"own_compilers:Strict{options}")


def test_an_option_has_one_value() -> None:
    with pytest.raises(UsageError, match="level is given twice"):
        compilers.resolve("own_compilers:Mine:level=1,level=2")


def test_options_are_read_by_their_types() -> None:
    compiler: object = compilers.resolve("own_compilers:Strict:level=2")
    assert compiler == Strict(level=2)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("rate=0.5", Typed(rate=0.5)),
        ("rate=-1e-3", Typed(rate=-0.001)),
        ("most=-1", Typed(most=-1)),
        ("most=3,mode=fast", Typed(most=3, mode="fast")),
        ("note=3", Typed(note="3")),
    ],
)
def test_numbers_choices_and_what_may_be_none_are_read(options: str, expected: Typed) -> None:
    compiler: object = compilers.resolve(f"own_compilers:Typed:{options}")
    assert compiler == expected


@pytest.mark.parametrize(
    ("option", "allowed"), [("rate=nan", "a number"), ("most=few", "a whole number"), ("mode=slow", "fast, exact")]
)
def test_a_value_of_another_type_shows_what_is_allowed(option: str, allowed: str) -> None:
    with pytest.raises(UsageError, match=f"Typed:{option}: .* is not allowed. Allowed: {allowed}"):
        compilers.resolve(f"own_compilers:Typed:{option}")
