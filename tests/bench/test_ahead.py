"""Groups compiled ahead: several at a time, in real processes and in some that only wait."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import plain
import pytest

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.ahead import Ahead, CompilingAhead
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.bench.processes.process import WorkerFailed
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.case import Case
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.record import Failure, Phase, Record
from pytest_ngraph.settings import Settings

LONG_S = 120.0
"""Only a test that fails waits for so long."""


def group(batch_size: int, *compilers: str) -> list[Case]:
    return [Case(workload="plain", compiler=compiler, batch_size=batch_size) for compiler in compilers]


class Noting(Silent):
    """Notes what it hears, in order."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def phase(self, case: Case, phase: Phase) -> None:
        self.heard.append(phase)

    def doing(self, case: Case, text: str) -> None:
        self.heard.append(text)

    def measuring(self, case: Case, share: float) -> None:
        self.heard.append("measuring")


def measured(
    folder: Path, groups: list[list[Case]], lanes: int, progress: Noting, **settings: Any
) -> tuple[dict[str, Record], list[str]]:
    """Return the records of the groups by id, and what was noted; compiled ahead where there are lanes."""
    notes: list[str] = []
    chosen = Settings(budget_s=0.01, warmup_s=0.01, min_rounds=6, cache=folder / "cache", **settings)
    ahead = Ahead(groups=groups, lanes=lanes, note=notes.append) if lanes else None
    with closing(Bench(chosen, BUILT_IN["cpu"].target, progress, ahead=ahead)) as bench:
        return {record.case.id: record for each in groups for record in bench.run(each)}, notes


def test_nothing_is_compiled_while_something_is_timed_and_a_failure_is_the_case_s_own(
    forked_workers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain.put_into(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = ("identity", "mine:Exact", "mine:Raises", "mine:Segfaults")
    groups = [group(1, *names), group(2, "mine:Exact"), group(4, "identity")]
    progress = Noting()
    records, notes = measured(tmp_path, groups, 2, progress, needs_compile_s=False)
    own = [text for text in progress.heard if text.startswith("compiled ahead")]
    assert own == progress.heard[: len(own)]
    assert own[-1] == "compiled ahead, 4 of 4"
    (note,) = notes
    assert note.startswith("2 cases compiled ahead in ")
    assert note.endswith("2 at a time, so without seconds to compile; 2 left until measured.")
    for case in ("plain-mine:Exact-b1-cpu", "plain-mine:Exact-b2-cpu"):
        assert (records[case].outcome, records[case].compile_s) == ("measured", None)
        assert records[case].cached_at is not None
        assert records[case].lacks_compile_s
    assert not records["plain-identity-b1-cpu"].lacks_compile_s

    alone, notes = measured(tmp_path, groups, 0, Noting())  # where the seconds are needed, it is compiled again
    assert notes == []
    assert alone["plain-mine:Exact-b1-cpu"].compile_s is not None
    assert alone["plain-mine:Exact-b1-cpu"].cached_at is None
    for name in ("mine:Raises", "mine:Segfaults"):
        case = f"plain-{name}-b1-cpu"
        assert records[case].failure is not None
        assert what(records[case]) == what(alone[case])

    again, notes = measured(tmp_path, [group(1, "mine:Exact")], 2, Noting(), needs_compile_s=False)
    assert notes == []  # it was in the cache
    assert again["plain-mine:Exact-b1-cpu"].cached_at is not None
    assert again["plain-mine:Exact-b1-cpu"].compile_s == alone["plain-mine:Exact-b1-cpu"].compile_s


def what(record: Record) -> tuple[object, ...]:
    failure = record.failure
    assert failure is not None
    return record.outcome, failure.phase, failure.kind, failure.message


class Waiting:
    """Workers that answer once `until` says so. `at_once` is the most that were asked at a time."""

    def __init__(self, until: Callable[[], object] = lambda: None, *, starts: bool = True) -> None:
        self.until = until
        self.starts = starts
        self.all: list[WaitingWorker] = []
        self.asked = self.at_once = 0
        self.lock = threading.Lock()

    def further(self, role: str, target: Target) -> WaitingWorker:
        if not self.starts:
            raise WorkerFailed(Failure(phase="build", kind="raised", message="no room"))
        self.all.append(WaitingWorker(self))
        return self.all[-1]


class WaitingWorker:
    def __init__(self, workers: Waiting) -> None:
        self.workers = workers
        self.alive, self.is_closed = True, False

    def request(self, do: str, **arguments: Any) -> dict[str, Any]:
        with self.workers.lock:
            self.workers.asked += 1
            self.workers.at_once = max(self.workers.at_once, self.workers.asked)
        try:
            if not arguments.get("looks_only"):
                self.workers.until()
        finally:
            with self.workers.lock:
                self.workers.asked -= 1
        if not self.alive:
            raise WorkerFailed(Failure(phase="build", kind="crashed", message="killed"))
        if do == "export":
            case = Case.from_dict(arguments["case"])
            return Artifact(folder=Path(arguments["folder"]), case=case, digest="1").to_dict()
        return {"became": "left" if arguments.get("looks_only") else "compiled"}

    def kill(self) -> None:
        self.alive = False

    def close(self) -> None:
        self.is_closed = True


def compiling(
    folder: Path, workers: Waiting, lanes: int, groups: list[list[Case]], in_use: float = 0.1, **ahead: Any
) -> CompilingAhead:
    return CompilingAhead(
        Ahead(groups=groups, lanes=lanes, **ahead),
        Settings(cache=folder / "cache"),
        workers,  # type: ignore[arg-type]  # a stand-in with what is asked of it
        lambda case: Target(),
        folder / "ahead",
        Silent(),
        in_use=lambda: in_use,
    )


def test_as_many_compile_at_a_time_as_there_are_lanes(tmp_path: Path) -> None:
    together = threading.Barrier(2)
    workers = Waiting(lambda: together.wait(LONG_S))  # each waits for another
    work = compiling(tmp_path, workers, 2, [group(1, "tvm", "openvino", "inductor"), group(2, "tvm", "openvino", "x")])
    work.run()
    assert workers.at_once == 2
    assert len(work.exported) == 2
    assert all(worker.is_closed for worker in workers.all)


def test_without_room_in_memory_they_compile_one_after_another(tmp_path: Path) -> None:
    notes: list[str] = []
    workers = Waiting()
    compiling(tmp_path, workers, 4, [group(1, "tvm", "openvino")], in_use=0.9, note=notes.append).run()
    assert workers.at_once == 1
    assert notes[0].startswith("2 cases compiled ahead")


def test_an_interrupt_ends_every_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed, turns, asked = threading.Event(), itertools.count(), itertools.count()

    def until() -> None:
        if next(turns):  # the first answers at once, the others only when they are killed
            killed.wait(LONG_S)

    def interrupt() -> bool:
        if next(asked):
            raise KeyboardInterrupt
        return False

    def kill(worker: WaitingWorker) -> None:
        worker.alive = False
        killed.set()

    monkeypatch.setattr(WaitingWorker, "kill", kill)
    workers = Waiting(until)
    with pytest.raises(KeyboardInterrupt):
        compiling(tmp_path, workers, 2, [group(size, "tvm") for size in (1, 2, 4)], is_over=interrupt).run()
    assert killed.is_set()
    assert all(worker.is_closed for worker in workers.all)
    assert workers.asked == 0


def test_when_the_time_is_over_nothing_further_begins(tmp_path: Path) -> None:
    notes: list[str] = []
    workers = Waiting()
    compiling(tmp_path, workers, 2, [group(1, "tvm")], is_over=lambda: True, note=notes.append).run()
    assert workers.all == []
    assert notes == [
        "0 cases compiled ahead in 0 s, 2 at a time, so without seconds to compile; 1 left until measured."
    ]


def test_a_worker_that_cannot_be_started_leaves_the_case(tmp_path: Path) -> None:
    notes: list[str] = []
    compiling(tmp_path, Waiting(starts=False), 2, [group(1, "tvm")], note=notes.append).run()
    assert notes[0].endswith("1 left until measured.")
