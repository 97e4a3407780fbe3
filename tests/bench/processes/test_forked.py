"""Workers that are forked from a process with a compiler's libraries imported. No framework is imported in them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import plain
import psutil
import pytest

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.processes.forked import ForkServer, Refused
from pytest_ngraph.bench.processes.home import OWN_HOME
from pytest_ngraph.bench.processes.process import WorkerFailed, WorkerProcess
from pytest_ngraph.bench.processes.workers import EXPORTER, Workers

SLOW_TO_IMPORT = (
    "import pathlib, mine\nclass Own(mine.Exact): ...\nwith open({log!r}, 'a') as log: log.write('imported\\n')\n"
)
THREADED = """
import threading, time, mine
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
class Own(mine.Exact): ...
"""


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    """Workers that can import `own`, which each test writes."""
    monkeypatch.syspath_prepend(plain.USERS)
    monkeypatch.syspath_prepend(tmp_path)
    made = Workers(tmp_path, memory_bytes=None)
    yield made
    made.close()


def parent_of(worker: WorkerProcess) -> int:
    return psutil.Process(worker.pid).ppid()


def test_each_launch_is_a_process_and_the_libraries_are_imported_once(workers: Workers, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "own.py").write_text(SLOW_TO_IMPORT.format(log=str(log)))
    seen = []
    for _ in range(3):
        with workers.fresh(Target(), compiler="own:Own") as worker:
            worker.request("ready", timeout_s=30)
            seen.append((worker.pid, parent_of(worker)))
        assert not psutil.pid_exists(worker.pid)
    pids, parents = map(set, zip(*seen, strict=True))
    assert (len(pids), len(parents)) == (3, 1)
    assert os.getpid() not in parents
    assert log.read_text() == "imported\n"


def test_residents_and_launches_share_the_imports(tmp_path: Path, workers: Workers) -> None:
    log = tmp_path / "log"
    (tmp_path / "own.py").write_text(SLOW_TO_IMPORT.format(log=str(log)))
    forking = Workers(tmp_path, memory_bytes=None, forks=True)
    try:
        forking.start_ahead([("own:Own", Target())])
        forking.settle(timeout_s=60)
        resident = forking.resident("own:Own", Target())
        with forking.fresh(Target(), compiler="own:Own") as launch:
            launch.request("ready", timeout_s=30)
            assert parent_of(launch) == parent_of(resident) != os.getpid()
        assert forking.resident("own:Own", Target()) is resident
        assert parent_of(forking.resident(EXPORTER, Target())) == os.getpid()
    finally:
        forking.close()
    assert log.read_text() == "imported\n"


def test_options_of_a_compiler_share_its_imports(tmp_path: Path, workers: Workers) -> None:
    log = tmp_path / "log"
    (tmp_path / "own.py").write_text(SLOW_TO_IMPORT.format(log=str(log)))
    roles = ["own:Own", "own:Own:level=1", "own:Own:level=2"]
    forking = Workers(tmp_path, memory_bytes=None, forks=True)
    try:
        forking.start_ahead([(role, Target()) for role in roles])
        forking.settle(timeout_s=60)
        residents = [forking.resident(role, Target()) for role in roles]
        assert len({each.pid for each in residents}) == 3
        assert len({parent_of(each) for each in residents} - {os.getpid()}) == 1
    finally:
        forking.close()
    assert log.read_text() == "imported\n"


def test_compilers_share_what_each_of_them_imports(
    tmp_path: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ours, that is PyTorch, in the server of eager PyTorch, from which the others are forked."""
    log = tmp_path / "log"
    (tmp_path / "own.py").write_text(SLOW_TO_IMPORT.format(log=str(log)))
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text("import own\nclass Further(own.Own): ...\n")
    monkeypatch.setattr("pytest_ngraph.bench.processes.workers.IDENTITY", "own:Own")
    monkeypatch.setattr(compilers, "names", lambda: ["own:Own", "one:Further", "two:Further"])
    servers = []
    for role in ("one:Further", "two:Further:level=1"):
        with workers.fresh(Target(), compiler=role) as worker:
            worker.request("ready", timeout_s=30)
            servers.append(psutil.Process(parent_of(worker)))
    first, second = servers
    assert first.pid != second.pid
    assert first.ppid() == second.ppid() != os.getpid()
    assert log.read_text() == "imported\n"
    root = psutil.Process(first.ppid())
    workers.close()
    assert not any(each.is_running() for each in (first, second, root))


def test_nothing_is_forked_from_a_server_that_has_died(tmp_path: Path) -> None:
    root = ForkServer("mine:Exact", (0,), tmp_path, OWN_HOME)
    root.close()
    with pytest.raises(Refused, match="does not answer"):
        ForkServer("mine:Exact", (0,), tmp_path, OWN_HOME, root)


def test_a_resident_of_a_library_that_starts_threads_is_a_process_of_its_own(tmp_path: Path, workers: Workers) -> None:
    (tmp_path / "own.py").write_text(THREADED)
    forking = Workers(tmp_path, memory_bytes=None, forks=True)
    try:
        forking.start_ahead([("own:Own", Target())])
        forking.settle(timeout_s=60)
        assert parent_of(forking.resident("own:Own", Target())) == os.getpid()
    finally:
        forking.close()


def test_where_a_library_starts_threads_a_launch_is_a_process_of_its_own(workers: Workers, tmp_path: Path) -> None:
    """A fork would lose the threads, and deadlock on what they hold."""
    (tmp_path / "own.py").write_text(THREADED)
    for _ in range(2):
        with workers.fresh(Target(), compiler="own:Own") as worker:
            worker.request("ready", timeout_s=30)
            assert parent_of(worker) == os.getpid()


def test_a_gpu_is_never_forked_into(workers: Workers) -> None:
    with workers.fresh(Target(kind="cuda"), compiler="mine:Exact") as worker:
        assert parent_of(worker) == os.getpid()


@pytest.mark.parametrize(
    ("number", "text"), [(signal.SIGSEGV, "crashed with SIGSEGV"), (signal.SIGKILL, "from outside")]
)
def test_the_death_of_a_forked_worker_is_reported(workers: Workers, number: signal.Signals, text: str) -> None:
    with workers.fresh(Target(), compiler="mine:Exact") as worker:
        worker.request("ready", timeout_s=30)
        os.kill(worker.pid, number)
        with pytest.raises(WorkerFailed, match=text):
            worker.request("ready", timeout_s=30)
        assert not worker.alive


def test_workers_end_with_their_server_and_the_next_is_a_process_of_its_own(workers: Workers) -> None:
    with workers.fresh(Target(), compiler="mine:Exact") as worker:
        worker.request("ready", timeout_s=30)
        os.kill(parent_of(worker), signal.SIGKILL)
        psutil.wait_procs([psutil.Process(worker.pid)], timeout=30)
        with pytest.raises(WorkerFailed):
            worker.request("ready", timeout_s=30)
    with workers.fresh(Target(), compiler="mine:Exact") as worker:
        worker.request("ready", timeout_s=30)
        assert parent_of(worker) == os.getpid()


def test_what_a_forked_worker_prints_is_its_own(workers: Workers, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import mine\nclass Own(mine.Exact):\n    def compile(self, *_): raise ValueError('own')\n"
    )
    for _ in range(2):
        with workers.fresh(Target(), compiler="own:Own") as worker, pytest.raises(WorkerFailed) as caught:
            worker.request("prepare", timeout_s=30, case={})
        assert caught.value.failure.stderr_tail.count("Traceback") == 1


def test_a_server_that_cannot_be_started_is_refused(tmp_path: Path) -> None:
    home = type(OWN_HOME)(python=str(tmp_path / "gone"))
    with pytest.raises(Refused, match=r"cannot start a process: .*gone"):
        ForkServer("mine:Exact", (0,), tmp_path, home)


def test_nothing_is_left_when_the_workers_are_closed(workers: Workers) -> None:
    with workers.fresh(Target(), compiler="mine:Exact") as worker:
        worker.request("ready", timeout_s=30)
        server = psutil.Process(parent_of(worker))
    assert server.is_running()
    workers.close()
    assert not server.is_running()


def test_waiting_for_one_that_lives_times_out(tmp_path: Path) -> None:
    server = ForkServer("identity", (0,), tmp_path, OWN_HOME)
    with (tmp_path / "stderr").open("wb") as stderr:
        process = server.fork("mark", stderr)
    try:
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
    finally:
        server.close()
