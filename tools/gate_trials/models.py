"""Compiled networks in processes of their own, measured without the gate."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.bench.processes.process import WorkerProcess
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import HEAD
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.settings import Settings

SETTINGS = Settings()


class Models(AbstractContextManager["Models"]):
    """Networks of the revision in `folder`, on `threads` cores. Exported and compiled networks are kept."""

    def __init__(self, folder: Path, threads: int) -> None:
        self._opened = ExitStack()
        self._kept = Path(self._opened.enter_context(tempfile.TemporaryDirectory(prefix="ngraph-trials-")))
        self._target = Target(cores=this_machine().cores[:threads])
        self._home = Home(folder=folder, path=[str(folder), *sys.path])
        self._exporter = self._opened.enter_context(self.worker())
        self._artifacts: dict[Case, Artifact] = {}

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @contextmanager
    def worker(self) -> Iterator[WorkerProcess]:
        """Start a fresh process for compiled networks. It ends with the block."""
        worker = WorkerProcess(cores=self._target.cores, temporary=self._kept, home=self._home)
        try:
            yield worker
        finally:
            worker.close()

    def prepare(self, worker: WorkerProcess, network: str, compiler: str, number: int, arm: str = HEAD) -> float:
        """Compile a network in a worker and warm it up. Return its seconds per call."""
        case = Case(workload=f"networks:{network}", compiler=compiler, batch_size=1, model_args=(("cell", number),))
        answer = worker.request(
            "prepare",
            timeout_s=SETTINGS.timeout_s,
            case=case.to_dict(),
            artifact=self._artifact(case.group).to_dict(),
            target=self._target.to_dict(),
            warmup_s=SETTINGS.warmup_s,
            round_s=SETTINGS.round_s,
            cache=dataclasses.replace(SETTINGS, cache=self._kept / "compiled").cache_to_dict(),
            arm=arm,
        )
        seconds: float = answer["seconds_per_call"]
        return seconds

    def _artifact(self, case: Case) -> Artifact:
        if case not in self._artifacts:
            folder = self._kept / str(len(self._artifacts))
            folder.mkdir()
            answer = self._exporter.request(
                "export", timeout_s=SETTINGS.timeout_s, case=case.to_dict(), folder=str(folder)
            )
            self._artifacts[case] = Artifact.from_dict(answer)
        return self._artifacts[case]
