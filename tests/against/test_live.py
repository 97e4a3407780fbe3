"""What the notes of a run beside a base say."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from synthetic import case, measured

from pytest_ngraph.against.live import LiveBase
from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.against.origin import Found
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison

ONE, TWO = case("tvm", 1), case("tvm", 8)
ROOT = Path("/home/me/project")


class Base:
    """An origin of another revision of the project."""

    name = identity = "main"
    has_own_libraries = False
    description = "base: main"

    def open(self, heads: Sequence[tuple[str, Case]]) -> Found:
        return Found(bases={ONE: ONE, TWO: TWO}, home=Home(), instead_of=(Path("/tmp/base"), ROOT))

    def close(self) -> None:
        """Do nothing: `open` makes nothing."""


def test_code_outside_of_the_repository_is_said_not_to_be_compared() -> None:
    """It is found at one place from both sides, so that a change of it is in neither."""
    run = LiveBase(Base(), GateOptions(against="main"))
    run.open([("test_it.py::test", ONE), ("test_it.py::test", TWO)])
    inside, weights, outside = f"{ROOT}/src/nets.py", "/data/weights.pt", "/home/me/shared/layers.py"
    for of, files in ((ONE, [inside, weights]), (TWO, [inside, outside])):
        record = measured(of, 0.1, follows_from={"files": dict.fromkeys(files, "digest")})
        run.judge(dataclasses.replace(record, comparison=Comparison(same=True)))
    run.conclude()
    (note,) = run.notes
    assert note == f"Not compared: code outside of the repository, which is the same at both sides: {outside}."
