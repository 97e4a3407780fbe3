"""What compilers name as worth trying, without their libraries."""

from __future__ import annotations

from typing import ClassVar, get_args

import pytest

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Kind, Target
from pytest_ngraph.case import OBJECTIVES, CompilerSpec
from pytest_ngraph.errors import UsageError

NAMES = compilers.names()


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
    for kind in get_args(Kind):
        for objective in OBJECTIVES:
            target = Target(kind=kind, cores=(0, 1), objective=objective)
            found = compilers.worth_trying(name, target)
            assert all(CompilerSpec.parse(text).name == name for text in found)
            assert all(compilers.resolve(text) != compilers.resolve(name) for text in found)
            assert all(effort > 0 for effort in found.values())


def test_streams_of_openvino_are_for_calls_side_by_side() -> None:
    assert compilers.worth_trying("openvino", Target(cores=(0, 1))) == {}
    found = compilers.worth_trying("openvino", Target(cores=(0, 1, 2, 3), objective="throughput"))
    assert list(found) == [f"openvino:streams={number}" for number in (1, 2, 4, 8)]


def test_without_the_member_only_the_default_is_tried() -> None:
    assert compilers.worth_trying("executorch", Target()) == {}


def test_an_option_that_does_not_exist_is_a_mistake() -> None:
    with pytest.raises(UsageError, match=r"'strems'"):
        compilers.worth_trying(f"{__name__}:Misspelt", Target())
