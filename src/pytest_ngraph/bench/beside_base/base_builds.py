"""Workloads as a base builds them: what its compilers start from, and the code of its own compilers."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.beside_base.differing import Files, Side
from pytest_ngraph.bench.beside_base.only_at_head import with_advice
from pytest_ngraph.bench.processes.exporting import export
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.bench.processes.process import WorkerFailed, WorkerProcess
from pytest_ngraph.bench.processes.workers import BASE_EXPORTER, Role, Workers
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.compilers import runs_module
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.machine.compiler_code import is_built_in
from pytest_ngraph.record import FailureKind
from pytest_ngraph.system.child import search_path


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


class BaseBuilds:
    """Builds workloads with the code of a base, each once.

    Args:
        home: where the code is, as in `Base`.
        target: returns what a case is compiled for.
        folder: where the artifacts are built; removed with the group.
        instead_of: as in `Base`, as is `at_base`.
    """

    def __init__(
        self,
        home: Home,
        workers: Workers,
        target: Callable[[Case], Target],
        timeout_s: float,
        folder: Path,
        instead_of: tuple[Path, Path] | None = None,
        at_base: Callable[[Case], Case] = lambda case: case,
    ) -> None:
        self._home = home
        self._workers = workers
        self._target = target
        self._timeout_s = timeout_s
        self._folder = folder
        self._instead_of = instead_of
        self._at_base = at_base
        self._built: dict[Case, Artifact | Unbuilt] = {}
        self._compilers: dict[tuple[str, Role], Files] = {}
        self._building: dict[Case, tuple[WorkerProcess | None, Future[Artifact | Unbuilt]]] = {}
        self._numbers = count()
        self._thread = ThreadPoolExecutor(max_workers=1)

    def begin(self, group: Case, head: Case) -> None:
        """Begin to build a group of the base while something else is built; `head` is as in `artifact`."""
        worker, exported = self._exporter(group, self._target(head.group))
        self._building[group] = worker, self._thread.submit(exported)

    def close(self) -> None:
        """End what is still being built: nobody waits for it any more, as after an interrupt."""
        for worker, building in self._building.values():
            if worker is not None and not building.done():
                worker.kill()
        self._thread.shutdown()

    def built(self, case: Case) -> Side | Unbuilt:
        """Return a case of the base as it is built there, without anything to compare it with."""
        artifact = self.artifact(case.group, case)
        return artifact if isinstance(artifact, Unbuilt) else self.side(case, artifact, BASE_EXPORTER, case)

    def artifact(self, group: Case, head: Case) -> Artifact | Unbuilt:
        """Return what a group of the base starts from, or why it cannot be built.

        Args:
            head: the head's case, for whose target it is built.
        """
        if group not in self._built:
            if group in self._building:
                _, building = self._building[group]
                self._built[group] = building.result()
            else:
                _, exported = self._exporter(group, self._target(head.group))
                self._built[group] = exported()
        return self._built[group]

    def side(self, case: Case, artifact: Artifact, exporter: Role, head: Case) -> Side:
        """Return one side of a comparison: the base's or the head's.

        Args:
            exporter: the worker that exported the artifact.
            head: the head's case; base and head are exported for its target.
        """
        files = self._compiler_files(case.compiler, exporter, self._target(head.group))
        own = runs_module(case.compiler, artifact)
        return Side(case=case, artifact=artifact, runs_module=own, compiler_files=files)

    def _compiler_files(self, compiler: str, exporter: Role, target: Target) -> Files:
        """Return the user's own files that make up a compiler at one side."""
        if self._instead_of is None or is_built_in(compiler):  # both sides have the same code
            return {}
        key = compiler, exporter
        if key not in self._compilers:
            home = self._home if exporter == BASE_EXPORTER else None
            try:
                worker = self._workers.resident(exporter, target, home)
                answer = worker.request("compiler_files", timeout_s=self._timeout_s, compiler=compiler)
                self._compilers[key] = answer["files"]
            except (OSError, Unsupported, WorkerFailed) as error:  # unknown, and so never the same as at another side
                self._compilers[key] = {f"{exporter} {uuid.uuid4().hex}": str(error)}
        return self._compilers[key]

    def _exporter(self, case: Case, target: Target) -> tuple[WorkerProcess | None, Callable[[], Artifact | Unbuilt]]:
        """Return a function that builds the artifact, in any thread, and the worker that it asks.

        The worker is started in this thread, because it ends with the thread that starts it. It is None where it could
        not be started.
        """
        folder = self._folder / f"base-{next(self._numbers)}"
        try:
            folder.mkdir()
            worker = self._workers.resident(BASE_EXPORTER, target, self._home)
        except (OSError, WorkerFailed) as error:
            problem = Unbuilt(str(error), "raised")
            return None, lambda: problem

        def exported() -> Artifact | Unbuilt:
            try:
                return export(worker, self._at_base(case), folder, self._timeout_s, instead_of=self._instead_of)
            except Unsupported as reason:
                return Unbuilt(str(reason))
            except OSError as error:
                return Unbuilt(str(error), "raised")
            except WorkerFailed as error:
                path = search_path() if self._home.path is None else self._home.path
                return Unbuilt(with_advice(error.failure.message, self._instead_of, path), error.failure.kind)

        return worker, exported
