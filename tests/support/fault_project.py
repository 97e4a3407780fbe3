"""A user's project whose cases are quick and need no framework; its runs are separate processes, if need be."""

from __future__ import annotations

import copy
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import plain
import psutil
import pytest
import warm

from pytest_ngraph import store
from pytest_ngraph.bench.processes.leftovers import MARK
from pytest_ngraph.bench.processes.lock import LOCK
from pytest_ngraph.record import Record

INI = f"""[pytest]
ngraph_budget = 0.01
ngraph_precision_target = 50%
ngraph_cache = off
addopts = -p no:cacheprovider {plain.WITHOUT_PLUGINS}
"""
TESTS = """
import pytest

@pytest.mark.ngraph(workload={workloads}, batch_size={batch_sizes}, compiler={compilers})
def test_it(measurement): ...
"""
# The handler is set because a shell starts background processes without it.
MAIN = "import signal, sys, pytest; signal.signal(signal.SIGINT, signal.default_int_handler); sys.exit(pytest.main())"
PATIENCE_S = 300
Started = subprocess.Popen[str] | warm.WarmProcess
"""A run of pytest."""


class Project:
    """The project. Its runs have their own temporary folder, and so their own lock.

    Attributes:
        begin_with: what the command of every run begins with.
        is_warm: whether the Python of a run starts warm.
        here: makes the runs in this process; None where each has its own.
        expected: the ids of all its cases.
    """

    begin_with: Sequence[str] = ()
    is_warm = warm.POSSIBLE
    here: pytest.Pytester | None = None

    def __init__(
        self,
        root: Path,
        *,
        workloads: Sequence[str] = ("plain",),
        batch_sizes: Sequence[int] = (1,),
        compilers: Sequence[str] = ("mine:Exact",),
    ) -> None:
        self._settle(root)
        self.root.mkdir(parents=True)
        plain.put_into(self.root)
        (self.root / "pytest.ini").write_text(INI)
        self.write_tests(workloads, batch_sizes, compilers)

    def copied(self, root: Path) -> Project:
        """Return a copy in another folder, with all that its runs have stored, as if they had run there."""
        made = copy.copy(self)
        made._settle(root)
        shutil.copytree(self.root, made.root)
        for path in made.store.glob(f"*{store.SUFFIX}"):
            path.write_text(path.read_text().replace(str(self.root), str(made.root)))
        return made

    def _settle(self, root: Path) -> None:
        self.root = root / "project"
        self.temporary = root / "temporary"
        self.store = self.root / ".ngraph"
        self.temporary.mkdir(parents=True)

    def write_tests(self, workloads: Sequence[str], batch_sizes: Sequence[int], compilers: Sequence[str]) -> None:
        text = TESTS.format(workloads=list(workloads), batch_sizes=list(batch_sizes), compilers=list(compilers))
        (self.root / "test_it.py").write_text(text)
        self.expected = {
            f"{workload}-{compiler}-b{size}-cpu"
            for workload in workloads
            for size in batch_sizes
            for compiler in compilers
        }

    def start(self, *arguments: str, **options: Any) -> Started:
        """Start a run of pytest in the project."""
        command = [*self.begin_with, sys.executable, "-c", MAIN, *arguments]
        environment = _environment() | {"TMPDIR": str(self.temporary)}
        if self.is_warm and not self.begin_with and not options:
            return warm.run(command, environment, self.root)
        return subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **options,
        )

    def run(self, *arguments: str, **options: Any) -> tuple[int, str]:
        """Run pytest to its end; return its exit status and what it printed."""
        if self.here is not None:
            return self._run_here(self.here, *arguments)
        return finished(self.start(*arguments, **options))

    def _run_here(self, here: pytest.Pytester, *arguments: str) -> tuple[int, str]:
        with pytest.MonkeyPatch.context() as patch, plain.importable(self.root):
            patch.setenv("TMPDIR", str(self.temporary))
            patch.setattr(tempfile, "tempdir", str(self.temporary))
            patch.chdir(self.root)
            ran = here.runpytest_inprocess(*arguments)
        return int(ran.ret), "\n".join((*ran.outlines, *ran.errlines))

    @property
    def records(self) -> dict[str, Record]:
        """Every record of the newest run, by the case's id."""
        return {record.case.id: record for record in store.read(self.store).records} if self.run_ids else {}

    @property
    def run_ids(self) -> list[str]:
        return store.run_ids(self.store)

    @property
    def size(self) -> int:
        """Bytes of all runs."""
        return sum(path.stat().st_size for path in self.store.glob(f"*{store.SUFFIX}"))

    @property
    def doubled(self) -> list[str]:
        """Cases of which the newest run has more than one record line."""
        lines = (self.store / f"{self.run_ids[-1]}{store.SUFFIX}").read_bytes().split(b"\n")
        rows = [json.loads(line) for line in lines if b'"outcome"' in line and line.endswith(b"}")]
        counts = Counter(json.dumps(row["case"]) for row in rows)
        return [case for case, count in counts.items() if count > 1]

    def wait_for(self, count: int, run: Started) -> None:
        """Wait until the store has `count` records; fail if the run ends before."""
        wait_until(lambda: len(self.records) >= count or run.poll() is not None)
        assert run.poll() is None, finished(run)

    def assert_nothing_left(self) -> None:
        """Check that no process and no temporary folder is left, and that the lock is free."""
        wait_until(lambda: not self._processes())
        wait_until(lambda: not [path for path in self.temporary.iterdir() if path.name != LOCK.name])
        with (self.temporary / LOCK.name).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def assert_resumes(self, *arguments: str, kept: Iterable[Record]) -> str:
        """Resume the run, and return what that printed.

        Check that every case has one record, and that those in `kept` are unchanged.
        """
        before = {record.case.id: record for record in kept}
        status, printed = self.run("--ngraph-resume", *arguments)
        after = self.records
        assert status == 0, printed
        assert set(after) == self.expected, printed
        assert {case: after[case] for case in before} == before
        assert all(record.outcome == "measured" for record in after.values())
        assert self.doubled == []
        self.assert_nothing_left()
        return printed

    def assert_measures_again(self, *arguments: str) -> str:
        """Resume the run, check that every case is measured again, and return what that printed."""
        before = self.records
        status, printed = self.run("--ngraph-resume", *arguments)
        assert status == 0, printed
        after = self.records
        assert set(after) == self.expected, printed
        assert not [case for case, record in before.items() if after[case] == record]
        return printed

    def _processes(self) -> list[int]:
        """Return the ids of this project's workers and of what they started."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK, "").startswith(str(self.temporary)):
                    found.append(process.pid)
            except psutil.Error:
                continue
        return found


def _environment() -> dict[str, str]:
    """Return this process's environment, without the variables that pytest sets."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


def finished(run: Started) -> tuple[int, str]:
    """Wait for a run; return its exit status and what it printed. Kill it, and fail, if it does not end."""
    try:
        printed, _ = run.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        run.send_signal(signal.SIGKILL)
        raise
    return run.returncode, printed


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until another process makes this hold; fail if it never does."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
