"""The base of a run: what its cases are compared with, and how it is built."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.differing import Files, Side, compared
from pytest_ngraph.bench.exporting import export
from pytest_ngraph.bench.home import Home
from pytest_ngraph.bench.process import WorkerFailed, WorkerProcess
from pytest_ngraph.bench.workers import BASE_EXPORTER, EXPORTER, Role, Workers
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison, Placement
from pytest_ngraph.compilers import runs_module
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.machine.compiler_code import is_built_in
from pytest_ngraph.record import FailureKind, Record
from pytest_ngraph.settings import Explained


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
        measures_equals: whether a case is compared even if graph, weights and inputs are those of its base.
        measures_unchanged: whether a case that is not compared, because it equals its base's, is measured by itself.
        explain: which cases are profiled beside their base, to explain where they differ.
        regressed: whether a decided comparison shows a regression.
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
    explain: Explained = "none"
    regressed: Callable[[Comparison], bool] = lambda comparison: False

    def explains(self, comparison: Comparison) -> bool:
        """Return whether head and base of a decided comparison are profiled."""
        if self.explain == "none" or comparison.problem or not comparison.launches:
            return False
        return self.explain == "all" or self.regressed(comparison)

    @property
    def placement(self) -> Placement:
        """Apart if the base needs another interpreter, and so another process."""
        return "together" if self.home.python == sys.executable else "apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opponent:
    """The base's side of one comparison.

    Attributes:
        case: the base's case.
        artifact: what its compiler starts from.
        instead_of: as in `Base`.
    """

    case: Case
    artifact: Artifact
    instead_of: tuple[Path, Path] | None = None


class BaseFails(Exception):
    """The base does not run, so nothing can be compared with it; the text says why.

    Attributes:
        kind: how it failed; empty where it only cannot be run here.
    """

    def __init__(self, reason: str, *, kind: FailureKind | Literal[""]) -> None:
        super().__init__(reason)
        self.kind = kind


class Unbuilt(NamedTuple):
    """Why the base's workload cannot be built.

    Attributes:
        kind: how it failed; empty where it only cannot be built here.
    """

    reason: str
    kind: FailureKind | Literal[""] = ""

    def noted_in(self, comparison: Comparison) -> Comparison:
        """Return the comparison with this as its problem."""
        skipped = "" if self.kind else self.reason
        problem = f"the base cannot be built: {self.reason}"
        return dataclasses.replace(comparison, problem=problem, base_skipped=skipped, broken=self.kind)


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
        self._built: dict[Case, Artifact | Unbuilt] = {}
        self._compilers: dict[tuple[str, Role], Files] = {}
        self._building: dict[Case, tuple[WorkerProcess | None, Future[Artifact | Unbuilt]]] = {}
        self._numbers = count()
        self._thread = ThreadPoolExecutor(max_workers=1)

    def build_ahead(self, case: Case) -> None:
        """Begin to build the artifact of a case's opponent, while something else is built."""
        opponent = self._base.case_of(case)
        if opponent is not None:
            worker, exported = self._exporter(opponent.group, self._target(case.group))
            self._building[opponent.group] = worker, self._thread.submit(exported)

    def close(self) -> None:
        """End what is still being built: nobody waits for it any more, as after an interrupt."""
        for worker, building in self._building.values():
            if worker is not None and not building.done():
                worker.kill()
        self._thread.shutdown()

    def beside_nothing(self, case: Case, reason: str, prepare: Callable[[Opponent], Record]) -> Comparison:
        """Return the comparison of a case whose workload cannot be built here: it is lost if the base runs.

        Args:
            reason: why it cannot be built.
            prepare: prepares the base by itself, and returns what came of it.
        """
        comparison, opponent = self.of(case, None)
        if opponent is None:
            return comparison
        record = prepare(opponent)
        if record.failure is not None:
            problem = f"the base does not run: {record.failure.message}"
            return dataclasses.replace(comparison, problem=problem, broken=record.failure.kind)
        if record.outcome == "skipped":
            problem = f"the base does not run: {record.skip_reason}"
            return dataclasses.replace(comparison, problem=problem, base_skipped=record.skip_reason)
        return dataclasses.replace(comparison, lost=reason)

    def built(self, case: Case) -> Side | Unbuilt:
        """Return a case of the base as it is built there, without anything to compare it with."""
        artifact = self._artifact(case.group, self._target(case.group))
        return artifact if isinstance(artifact, Unbuilt) else self._side(case, artifact, BASE_EXPORTER, case)

    def of(self, case: Case, artifact: Artifact | None) -> tuple[Comparison, Opponent | None]:
        """Return the comparison, still without launches, and the opponent to measure.

        The opponent is None if there is nothing to measure; the comparison then says why.

        Args:
            artifact: what the case's own compiler starts from; None if it cannot be built.
        """
        comparison = Comparison(against=self._base.name, placement=self._base.placement)
        opponent = self._base.case_of(case)
        if opponent is None:
            return dataclasses.replace(comparison, new=True), None
        if opponent != case:
            comparison = dataclasses.replace(comparison, base=opponent.id)
        built = self._artifact(opponent.group, self._target(case.group))
        if isinstance(built, Unbuilt):
            return built.noted_in(comparison), None
        base = self._side(opponent, built, BASE_EXPORTER, case)
        head = self._side(case, artifact, EXPORTER, case) if artifact else None
        if head:
            instead_of, measures_equals = self._base.instead_of, self._base.measures_equals
            comparison = compared(comparison, head, base, instead_of=instead_of, measures_equals=measures_equals)
        if comparison.same:
            return comparison, None
        return comparison, Opponent(case=opponent, artifact=built, instead_of=self._base.instead_of)

    def _side(self, case: Case, artifact: Artifact, exporter: Role, head: Case) -> Side:
        """Return one side of a comparison.

        Args:
            exporter: the worker that exported the artifact.
            head: the head's case; base and head are exported for its target.
        """
        files = self._compiler_files(case.compiler, exporter, self._target(head.group))
        own = runs_module(case.compiler, artifact)
        return Side(case=case, artifact=artifact, runs_module=own, compiler_files=files)

    def _compiler_files(self, compiler: str, exporter: Role, target: Target) -> Files:
        """Return the user's own files that make up a compiler at one side."""
        if self._base.instead_of is None or is_built_in(compiler):  # both sides have the same code
            return {}
        key = compiler, exporter
        if key not in self._compilers:
            home = self._base.home if exporter == BASE_EXPORTER else None
            try:
                worker = self._workers.resident(exporter, target, home)
                answer = worker.request("compiler_files", timeout_s=self._timeout_s, compiler=compiler)
                self._compilers[key] = answer["files"]
            except (OSError, Unsupported, WorkerFailed) as error:  # unknown, and so not surely the same
                self._compilers[key] = {exporter: str(error)}
        return self._compilers[key]

    def _artifact(self, case: Case, target: Target) -> Artifact | Unbuilt:
        """Return what the base's group starts from, or why it cannot be built. It is built for the head's target."""
        if case not in self._built:
            if case in self._building:
                _, building = self._building[case]
                self._built[case] = building.result()
            else:
                _, exported = self._exporter(case, target)
                self._built[case] = exported()
        return self._built[case]

    def _exporter(self, case: Case, target: Target) -> tuple[WorkerProcess | None, Callable[[], Artifact | Unbuilt]]:
        """Return a function that builds the artifact, in any thread, and the worker that it asks.

        The worker is started in this thread, because it ends with the thread that starts it. It is None where it could
        not be started.
        """
        base = self._base
        folder = self._folder / f"base-{next(self._numbers)}"
        try:
            folder.mkdir()
            worker = self._workers.resident(BASE_EXPORTER, target, base.home)
        except (OSError, WorkerFailed) as error:
            problem = Unbuilt(str(error), "raised")
            return None, lambda: problem

        def exported() -> Artifact | Unbuilt:
            try:
                return export(worker, base.at_base(case), folder, self._timeout_s, instead_of=base.instead_of)
            except Unsupported as reason:
                return Unbuilt(str(reason))
            except OSError as error:
                return Unbuilt(str(error), "raised")
            except WorkerFailed as error:
                return Unbuilt(_with_advice(error.failure.message, base.instead_of), error.failure.kind)

        return worker, exported


def _with_advice(reason: str, instead_of: tuple[Path, Path] | None) -> str:
    """Return why the base cannot be built, with the next step where it looks for a file that only the head has."""
    if instead_of is None:
        return reason
    tree, root = instead_of
    for name in re.findall(rf"{re.escape(str(tree))}/([^'\"\n]+)", reason):
        if (root / name).is_file() and not (tree / name).exists():
            return (
                f"{reason}. {name} is in the working tree, but not at the base: git does not track it. To give it to "
                f"the base, too: --ngraph-untracked={name}"
            )
    return reason
