"""Which cases of a baseline a run would have had to generate."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.plugin.assembly import SESSION
from pytest_ngraph.plugin.collected import CollectedCases

KEPT, GONE = (Case(workload="resnet18", compiler="identity", batch_size=size) for size in (1, 8))
OF_ANOTHER = Case(workload="resnet50", compiler="identity", batch_size=8)


@pytest.fixture
def is_gone(pytester: pytest.Pytester) -> Callable[..., bool]:
    """Whether a case that a test had is gone, where `test_it.py::test_speed` now has another one."""
    collected = CollectedCases()
    collected.add("folder/test_it.py::test_speed", [KEPT])

    def lacks(*arguments: str, case: Case = GONE, test: str = "folder/test_it.py::test_speed[x]") -> bool:
        config = pytester.parseconfigure(*arguments)
        return collected.lacks(case, test, config, config.stash[SESSION].options)

    return lacks


def test_what_is_generated_is_not_gone_whatever_was_deselected(is_gone: Callable[..., bool]) -> None:
    assert not is_gone(case=KEPT)
    assert not is_gone("-k", "nothing", case=KEPT)


def test_what_the_test_no_longer_has_is_gone(is_gone: Callable[..., bool]) -> None:
    assert is_gone()
    assert is_gone("-k", "nothing")
    assert is_gone("--batch-size=1,8")


def test_a_folder_may_have_brackets_in_its_name(pytester: pytest.Pytester) -> None:
    collected = CollectedCases()
    collected.add("[gpu]/test_it.py::test_speed", [KEPT])
    config = pytester.parseconfigure("--lf")
    options = config.stash[SESSION].options
    assert collected.lacks(GONE, "[gpu]/test_it.py::test_speed[x]", config, options)


@pytest.mark.parametrize(
    "option",
    ["--batch-size=1", "--compiler=onnxruntime", "--device=xeon", "--precision=bf16", "--objective=throughput"],
)
def test_what_the_command_line_leaves_out_is_not_gone(is_gone: Callable[..., bool], option: str) -> None:
    assert not is_gone(option)


@pytest.mark.parametrize(
    ("argument", "asked_for"),
    [
        ("folder", True),
        ("folder/../folder", True),
        ("folder/test_it.py", True),
        ("folder/test_it.py::test_speed", True),
        ("folder/test_it.py::test_speed[x]", True),
        ("folder/test_it.py::test_speed[y]", False),
        ("folder/test_it.py::test_spe", False),
        ("folder/test_other.py", False),
        ("other", False),
    ],
)
def test_only_what_was_asked_for_can_be_gone(
    pytester: pytest.Pytester, is_gone: Callable[..., bool], argument: str, *, asked_for: bool
) -> None:
    for name in ("folder", "other"):
        pytester.mkdir(name)
    for name in ("test_it.py", "test_other.py"):
        (pytester.path / "folder" / name).touch()
    assert is_gone(argument) is asked_for


@pytest.mark.parametrize(("option", "expected"), [("-v", True), ("--lf", False), ("--ignore=folder", False)])
def test_files_that_were_not_looked_into_have_lost_nothing(
    is_gone: Callable[..., bool], option: str, *, expected: bool
) -> None:
    assert is_gone(option, case=OF_ANOTHER, test="folder/test_removed.py::test_it[x]") is expected
