"""What the cases of a group are compared with, and where it is built."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest
from synthetic import case
from two_trees import Decided

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.beside_base.base import Base
from pytest_ngraph.bench.beside_base.base_builds import BaseBuilds
from pytest_ngraph.bench.beside_base.base_sides import BaseSides
from pytest_ngraph.bench.beside_base.differing import Side
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.bench.processes.process import WorkerFailed
from pytest_ngraph.bench.processes.workers import BASE_EXPORTER, Workers
from pytest_ngraph.case import Case
from pytest_ngraph.record import Failure

HEAD = case("openvino", 8)
TARGETS = {HEAD.device: Target(cores=(2, 3))}


class Exporter:
    """The worker of every role and target; remembers the targets."""

    def __init__(self) -> None:
        self.targets: list[Target] = []

    def resident(self, role: str, target: Target, home: Home) -> Exporter:
        self.targets.append(target)
        return self

    def request(self, do: str, **arguments: Any) -> dict[str, Any]:
        return Artifact(folder=Path(arguments["folder"]), case=Case.from_dict(arguments["case"])).to_dict()


class Reading(Exporter):
    """The same, for a workload that a file beside it is read for, and for a compiler whose files nobody finds."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def request(self, do: str, **arguments: Any) -> dict[str, Any]:
        if do == "compiler_files":
            raise WorkerFailed(Failure(phase="build", kind="raised", message="no such module"))
        return super().request(do, **arguments) | {"files": {self._file: "digest"}}


class Slow(Exporter):
    """Answers only once it is killed, or at once if `is_quick`."""

    def __init__(self, *, is_quick: bool = False) -> None:
        super().__init__()
        self._is_free = Event()
        self.kills = 0
        if is_quick:
            self._is_free.set()

    def request(self, do: str, **arguments: Any) -> dict[str, Any]:
        if not self._is_free.wait(timeout=60):
            raise AssertionError("it was not killed")
        if self.kills:
            raise WorkerFailed(Failure(phase="build", kind="crashed", message="killed"))
        return super().request(do, **arguments)

    def kill(self) -> None:
        self.kills += 1
        self._is_free.set()


def base_of(case: Case) -> Base:
    """Return a base that the head is compared with in this case."""
    return Base(
        name="main",
        identity="main",
        home=Home(),
        instead_of=None,
        case_of={HEAD: case}.get,
        at_base=lambda case: case,
        decides=Decided(),
    )


def base_sides_of(base: Base, workers: Workers, target: Callable[[Case], Target], folder: Path) -> BaseSides:
    return BaseSides(base, BaseBuilds(base.home, workers, target, 60, folder))


def test_a_folder_that_cannot_be_made_is_why_a_base_cannot_be_built(tmp_path: Path) -> None:
    workers = cast("Workers", Exporter())
    base_sides = base_sides_of(base_of(HEAD), workers, lambda case: Target(), tmp_path / "nowhere")
    comparison, base_side = base_sides.of(HEAD, Artifact(folder=tmp_path, case=HEAD.group))
    assert base_side is None
    assert comparison.problem.startswith("the base cannot be built: [Errno 2] No such file or directory: ")


def test_a_base_on_a_device_that_is_gone_is_built_where_the_head_is(tmp_path: Path) -> None:
    """A renamed device leaves no profile under its old name."""
    base_case, exporter = dataclasses.replace(HEAD, device="renamed"), Exporter()
    workers = cast("Workers", exporter)
    base_sides = base_sides_of(base_of(base_case), workers, lambda case: TARGETS[case.device], tmp_path)
    comparison, base_side = base_sides.of(HEAD, Artifact(folder=tmp_path, case=HEAD.group))
    assert base_side is not None
    assert base_side.case == base_case
    assert comparison.base == base_case.id
    assert exporter.targets == [TARGETS[HEAD.device]]


@pytest.mark.parametrize(("is_quick", "kills"), [(False, 1), (True, 0)])
def test_an_interrupt_does_not_wait_for_the_base(tmp_path: Path, *, is_quick: bool, kills: int) -> None:
    """What was built by then stays, and so does its worker."""
    exporter = Slow(is_quick=is_quick)
    base_sides = base_sides_of(base_of(HEAD), cast("Workers", exporter), lambda case: Target(), tmp_path)
    base_sides.build_ahead(HEAD)
    if is_quick:
        base_sides.of(HEAD, Artifact(folder=tmp_path, case=HEAD.group))
    base_sides.close()
    assert exporter.kills == kills


def test_what_is_built_at_the_base_is_announced_with_the_paths_of_the_head(tmp_path: Path) -> None:
    tree, root = tmp_path / "tree", tmp_path / "root"
    found: list[tuple[Case, Side]] = []
    base = dataclasses.replace(
        base_of(HEAD), instead_of=(tree, root), on_built=lambda case, side: found.append((case, side))
    )
    workers = cast("Workers", Reading(f"{tree}/nets.py"))
    base_sides_of(base, workers, lambda case: Target(), tmp_path).of(HEAD, None)
    [(announced, side)] = found
    assert (announced, side.case) == (HEAD, HEAD)
    assert side.artifact.own_files == {f"{root}/nets.py": "digest"}


def test_a_compiler_whose_files_are_not_known_is_never_the_same(tmp_path: Path) -> None:
    """Nor where asking for them fails for one reason at both sides."""
    own, places = dataclasses.replace(HEAD, compiler="mine:Compiler"), (tmp_path / "tree", tmp_path / "root")
    sides = []
    for name in ("one", "other"):
        (folder := tmp_path / name).mkdir()
        workers = cast("Workers", Reading(f"{tmp_path}/nets.py"))
        builds = BaseBuilds(Home(), workers, lambda case: Target(), 60, folder, places)
        artifact = builds.artifact(own.group, own)
        assert isinstance(artifact, Artifact)
        sides.append(builds.side(own, artifact, BASE_EXPORTER, own))
    assert sides[0].is_same(sides[0])
    assert not sides[0].is_same(sides[1])
