"""What compilers name as worth trying, without their libraries."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import ClassVar

import pytest

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Kind, Target
from pytest_ngraph.case import OBJECTIVES, CompilerSpec
from pytest_ngraph.compilers import kinds
from pytest_ngraph.errors import UsageError

NAMES = compilers.names()
TARGETS = [Target(kind=kind, cores=(0, 1), objective=objective) for kind in kinds.names() for objective in OBJECTIVES]


class Misspelt:
    """A compiler that names an option which it does not have."""

    libraries: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu",)

    def worth_trying(self, target: Target) -> dict[str, float]:
        del target
        return {"strems=2": 1.0}

    def compile(self) -> None: ...

    def load(self) -> None: ...


@pytest.mark.parametrize("name", NAMES)
def test_every_option_exists_and_differs_from_the_default(name: str) -> None:
    for target in TARGETS:
        found = compilers.worth_trying(name, target)
        assert all(CompilerSpec.parse(text).name == name for text in found)
        assert all(compilers.resolve(text) != compilers.resolve(name) for text in found)
        assert all(effort > 0 for effort in found.values())


def test_every_compiler_but_executorch_has_options_to_try() -> None:
    without = {name for name in NAMES if not any(compilers.worth_trying(name, target) for target in TARGETS)}
    assert without == {"executorch"}


def test_streams_of_openvino_are_for_calls_side_by_side() -> None:
    assert compilers.worth_trying("openvino", Target(cores=(0, 1))) == {}
    found = compilers.worth_trying("openvino", Target(cores=(0, 1, 2, 3), objective="throughput"))
    assert list(found) == [f"openvino:streams={number}" for number in (1, 2, 4, 8)]


def test_an_option_that_does_not_exist_is_a_mistake() -> None:
    with pytest.raises(UsageError, match=r"'strems'"):
        compilers.worth_trying(f"{__name__}:Misspelt", Target())


@pytest.mark.parametrize("name", NAMES)
def test_the_docs_say_of_every_option_that_it_is_tried_or_why_not(name: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / "advise.md").read_text()
    (row,) = re.findall(rf"^\| `{name}` \| (.+) \|$", text, re.MULTILINE)
    tried = [compilers.worth_trying(name, target) for target in TARGETS]
    options = {option for found in tried for text in found for option, _ in CompilerSpec.parse(text).options}
    for option in options | {field.name for field in dataclasses.fields(compilers.resolve(name))}:  # type: ignore[arg-type]
        assert re.search(rf"\b{option}\b", row), option
