"""The cases that collection generated, before any test was deselected.

They separate a case that the project no longer has from one that this run was not asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_ngraph.against.pairing import function_of
from pytest_ngraph.case import Case
from pytest_ngraph.session.options import Axis, Options

COLLECTED: pytest.StashKey[CollectedCases] = pytest.StashKey()


def collected(config: pytest.Config) -> CollectedCases:
    """Return what this run's collection has generated so far."""
    return config.stash.setdefault(COLLECTED, CollectedCases())


class CollectedCases:
    """The test functions that were collected, by node id, and the cases that were generated for them."""

    def __init__(self) -> None:
        self._functions: set[str] = set()
        self._cases: dict[Case, str] = {}

    def add(self, function: str, cases: Iterable[Case]) -> None:
        self._functions.add(function)
        for case in cases:
            self._cases.setdefault(case, function)

    @property
    def cases(self) -> frozenset[Case]:
        return frozenset(self._cases)

    @property
    def with_functions(self) -> list[tuple[str, Case]]:
        """The cases, each with the node id of the first function that it was generated for."""
        return [(function, case) for case, function in self._cases.items()]

    def lacks(self, case: Case, nodeid: str, config: pytest.Config, options: Options) -> bool:
        """Whether the project has lost a case: this run would have generated it for that test, and did not."""
        if case in self._cases or _is_narrowed(case, options) or not _is_asked_for(nodeid, config):
            return False
        return function_of(nodeid) in self._functions or _collects_everything(config)


def _is_narrowed(case: Case, options: Options) -> bool:
    """Whether the command line leaves the case out."""
    axes: tuple[tuple[Axis[Any], object], ...] = (
        (options.devices, case.device),
        (options.compilers, case.compiler),
        (options.batch_sizes, case.batch_size),
        (options.precisions, case.precision),
        (options.objectives, case.objective),
        *((axis, dict(case.sizes).get(name)) for name, axis in options.sizes.items()),
    )
    return any(axis.command_line is not None and value not in axis.command_line for axis, value in axes)


def _is_asked_for(nodeid: str, config: pytest.Config) -> bool:
    """Whether one of pytest's arguments is the test, or something that it lies in."""
    file, _, name = nodeid.partition("::")
    path = (config.rootpath / file).resolve()
    for argument in config.args:
        place, _, part = str(argument).partition("::")
        folder = Path(config.invocation_params.dir, place).resolve()
        if not part and (folder == path or folder in path.parents):
            return True
        if folder == path and (name == part or name.startswith((f"{part}::", f"{part}["))):
            return True
    return False


def _collects_everything(config: pytest.Config) -> bool:
    """Whether no option keeps pytest from looking into some of the files."""
    return not any(config.getoption(name, None) for name in ("lf", "ignore", "ignore_glob"))
