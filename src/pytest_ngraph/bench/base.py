"""The base of a run: what its cases are compared with, and how it is built."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.home import Home
from pytest_ngraph.bench.process import WorkerFailed
from pytest_ngraph.bench.workers import BASE_EXPORTER, Workers
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison, Placement
from pytest_ngraph.errors import Unsupported


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What the cases of a run are compared with.

    Attributes:
        name: as shown to users (`main at 1a2b3c4`).
        identity: what distinguishes it from every other base.
        home: where its workloads are built, and also where they run if its interpreter is another one.
        instead_of: the base's copy of a repository, and the repository itself; None if both use the same code. A module
            imported from the repository instead of the copy would compare the head with itself.
        case_of: the base's case for one of the head's; None if the base has none.
        at_base: a case with the paths of the base's copy in place of the head's.
        decided: whether the measurements suffice for a verdict; more launches are made until they do.
        measures_equals: whether a case is compared even if it starts from the same graph and weights as its base.
        measures_unchanged: whether a case that is not compared, because it equals its base's, is measured by itself.
        alone: cases whose arms are also launched alone, for figures that a process holding both cannot give.
    """

    name: str
    identity: str
    home: Home
    instead_of: tuple[Path, Path] | None
    case_of: Callable[[Case], Case | None]
    at_base: Callable[[Case], Case]
    decided: Callable[[Comparison], bool]
    measures_equals: bool = False
    measures_unchanged: Callable[[Case], bool] = lambda case: True
    alone: Collection[Case] = ()

    @property
    def placement(self) -> Placement:
        """Apart if the base needs another interpreter, and so another process."""
        return "together" if self.home.python == sys.executable else "apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opponent:
    """The base's side of one comparison: its case, and the artifact that its compiler starts from."""

    case: Case
    artifact: Artifact


class Opponents:
    """Finds the opponent of each case of a group, and builds the artifact that it starts from, once.

    Args:
        folder: where the artifacts are built; removed with the group.
    """

    def __init__(
        self, base: Base, workers: Workers, target: Callable[[Case], Target], timeout_s: float, folder: Path
    ) -> None:
        self._base = base
        self._workers = workers
        self._target = target
        self._timeout_s = timeout_s
        self._folder = folder
        self._built: dict[Case, Artifact | str] = {}
        self._building: dict[Case, Future[Artifact | str]] = {}
        self._thread = ThreadPoolExecutor(max_workers=1)

    def build_ahead(self, case: Case) -> None:
        """Begin to build the artifact of a case's opponent, while something else is built."""
        opponent = self._base.case_of(case)
        if opponent is not None:
            export = self._exporter(opponent.group, self._target(case.group))
            self._building[opponent.group] = self._thread.submit(export)

    def close(self) -> None:
        """Wait until nothing is built any more."""
        self._thread.shutdown()

    def of(self, case: Case, artifact: Artifact) -> tuple[Comparison, Opponent | None]:
        """Return the comparison, still without launches, and the opponent to measure.

        The opponent is None if there is nothing to measure; the comparison then says why.

        Args:
            artifact: what the case's own compiler starts from.
        """
        comparison = Comparison(against=self._base.name, placement=self._base.placement)
        opponent = self._base.case_of(case)
        if opponent is None:
            return dataclasses.replace(comparison, new=True), None
        if opponent != case:
            comparison = dataclasses.replace(comparison, base=opponent.id)
        built = self._artifact(opponent.group, self._target(case.group))
        if isinstance(built, str):
            return dataclasses.replace(comparison, problem=f"the base cannot be built: {built}"), None
        for side, exported in (("base", built), ("head", artifact)):
            if exported.export_error:
                problem = f"two revisions are compared as exported programs, and torch.export refuses the {side}'s: "
                return dataclasses.replace(comparison, problem=problem + exported.export_error), None
        if not self._base.measures_equals and opponent == case and built.digest == artifact.digest:
            return dataclasses.replace(comparison, same=True), None
        return comparison, Opponent(case=opponent, artifact=built)

    def _artifact(self, case: Case, target: Target) -> Artifact | str:
        """Return what the base's group starts from, or why it cannot be built. It is built for the head's target."""
        if case not in self._built:
            building = self._building.get(case)
            self._built[case] = building.result() if building else self._exporter(case, target)()
        return self._built[case]

    def _exporter(self, case: Case, target: Target) -> Callable[[], Artifact | str]:
        """Return a function that builds the artifact, in any thread.

        The worker is started in this thread, because it ends with the thread that starts it.
        """
        base = self._base
        folder = self._folder / f"base-{len(self._built)}"
        try:
            folder.mkdir()
            worker = self._workers.resident(BASE_EXPORTER, target, base.home)
        except (OSError, WorkerFailed) as error:
            problem = str(error)
            return lambda: problem

        def export() -> Artifact | str:
            try:
                answer = worker.request(
                    "export",
                    timeout_s=self._timeout_s,
                    case=base.at_base(case).to_dict(),
                    folder=str(folder),
                    instead_of=[str(place) for place in base.instead_of or ()],
                )
            except (Unsupported, OSError) as reason:
                return str(reason)
            except WorkerFailed as error:
                return error.failure.message
            return Artifact.from_dict(answer)

        return export
