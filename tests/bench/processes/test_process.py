"""Worker processes and requests that go wrong. No framework is imported in these workers."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plain
import psutil
import pytest
from paging import CALLS

from pytest_ngraph.artifact import Artifact, Target, save_arrays
from pytest_ngraph.bench.processes.family import family
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.bench.processes.process import WorkerFailed, WorkerProcess, _Ended
from pytest_ngraph.case import Case
from pytest_ngraph.record import Failure


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[WorkerProcess]:
    monkeypatch.syspath_prepend(plain.USERS)
    process = WorkerProcess(cores=(0,), temporary=tmp_path, memory_bytes=400 * 2**20)
    yield process
    process.close()
    assert not psutil.pid_exists(process.pid)


def preparation(folder: Path, compiler: str) -> dict[str, Any]:
    import numpy as np

    save_arrays(folder / "reference.npz", [np.arange(6.0).reshape(2, 3) + 1])
    case = Case(workload="mine:network", compiler=f"mine:{compiler}", batch_size=2)
    return {
        "case": case.to_dict(),
        "artifact": Artifact(folder=folder, case=case).to_dict(),
        "target": Target().to_dict(),
        "warmup_s": 0.01,
        "round_s": 0.001,
    }


def failure_of(worker: WorkerProcess, folder: Path, compiler: str, timeout_s: float = 30) -> Failure:
    with pytest.raises(WorkerFailed) as caught:
        worker.request("prepare", timeout_s=timeout_s, phase="compile", **preparation(folder, compiler))
    return caught.value.failure


def test_a_worker_that_cannot_be_started_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed, match=r"cannot start a process to measure in: .*gone/python"):
        WorkerProcess(cores=(0,), temporary=tmp_path, home=Home(python=str(tmp_path / "gone" / "python")))


def test_an_interpreter_that_has_no_worker_fails_the_first_request(tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho No module named pytest_ngraph >&2\nexit 1\n")
    other.chmod(0o755)
    worker = WorkerProcess(cores=(0,), temporary=tmp_path, home=Home(python=str(other)))
    with pytest.raises(WorkerFailed, match="exited with status 1") as caught:
        worker.request("ready", timeout_s=30)
    worker.close()
    assert caught.value.failure.stderr_tail == "No module named pytest_ngraph"


def test_a_session_may_have_more_files_open_than_select_takes(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2048:
        pytest.skip(f"this system lets no process open 2048 files, but {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        worker = WorkerProcess(cores=(0,), temporary=tmp_path)
        try:
            assert worker.request("ready", timeout_s=30) == {}
        finally:
            worker.close()
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_an_entry_of_the_search_path_that_is_no_text_is_passed_over_as_python_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.path", [tmp_path, *sys.path])
    worker = WorkerProcess(cores=(0,), temporary=tmp_path)
    try:
        assert worker.request("ready", timeout_s=30) == {}
    finally:
        worker.close()


def test_what_a_compiler_reports_of_itself_is_a_number_or_its_own_failure(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    prepared = worker.request("prepare", timeout_s=30, phase="compile", **preparation(tmp_path, "CountsInNumPy"))
    assert prepared["concurrency"] == 1
    worker.request("release", timeout_s=30, kind="cpu")
    failure = failure_of(worker, tmp_path, "CountsInNothing")
    assert (failure.kind, failure.message) == (
        "raised",
        "TypeError: {1} is neither a number nor text, so the worker cannot send it",
    )
    assert worker.alive


def test_no_call_of_a_model_pays_for_where_its_frame_lies(worker: WorkerProcess, tmp_path: Path) -> None:
    prepared = worker.request("prepare", timeout_s=30, phase="compile", **preparation(tmp_path, "Deep"))
    assert int(prepared["facts"]["pages"]) < CALLS / 10


def test_a_list_of_processes_shows_what_a_worker_is_for(tmp_path: Path) -> None:
    worker = WorkerProcess(cores=(0,), temporary=tmp_path, role="openvino:streams=2")
    while not (shown := psutil.Process(worker.pid).cmdline()):  # Linux shows none until the program is loaded
        time.sleep(0.01)
    worker.close()
    assert shown[-2:] == ["pytest_ngraph.worker", "openvino:streams=2"]


def test_a_module_of_the_users_in_the_current_folder_is_not_the_standard_librarys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit('mine')\n")
    monkeypatch.chdir(tmp_path)
    worker = WorkerProcess(cores=(0,), temporary=tmp_path)
    try:
        assert worker.request("ready", timeout_s=30) == {}
    finally:
        worker.close()


@pytest.mark.parametrize("library", ["json", "no_such_library"])
def test_a_compilers_libraries_are_imported_ahead(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If that fails, the next request is still answered."""
    (tmp_path / "torch.py").write_text("import pathlib; pathlib.Path(__file__).with_suffix('.imported').touch()\n")
    (tmp_path / "own.py").write_text(f"import mine\nclass Own(mine.Exact):\n    libraries = ({library!r},)\n")
    monkeypatch.syspath_prepend(plain.USERS)
    monkeypatch.syspath_prepend(tmp_path)
    worker = WorkerProcess(cores=(0,), temporary=tmp_path, ahead="own:Own")
    try:
        worker.request("ready", timeout_s=30)
        assert (tmp_path / "torch.imported").exists()
    finally:
        worker.close()


def test_a_case_from_compiling_to_release(worker: WorkerProcess, tmp_path: Path) -> None:
    phases: list[str] = []
    prepared = worker.request(
        "prepare", timeout_s=30, phase="compile", on_phase=phases.append, **preparation(tmp_path, "Exact")
    )
    assert phases == ["compile", "warm-up", "verify", "measure"]
    assert prepared["agreement"]["error"] == 0
    assert prepared["warmup"]["iterations"] >= 3
    measured = worker.request("measure", timeout_s=30, calls=5)
    assert 5 * 0.0005 <= measured["elapsed_s"] <= measured["wall_s"]
    released = worker.request("release", timeout_s=30, kind="cpu")
    assert released["worker_memory_bytes"] > 2**20
    assert released["device_memory_bytes"] is None


def test_an_exception_is_reported_and_the_worker_lives_on(worker: WorkerProcess, tmp_path: Path) -> None:
    failure = failure_of(worker, tmp_path, "Raises")
    assert (failure.phase, failure.kind, failure.message) == ("compile", "raised", "ValueError: no such operator")
    assert "Traceback" in failure.stderr_tail
    assert worker.alive
    assert worker.request("prepare", timeout_s=30, **preparation(tmp_path, "Exact"))["compile_s"] >= 0


@pytest.mark.parametrize(
    ("compiler", "kind", "text"),
    [
        ("Segfaults", "crashed", "crashed with SIGSEGV"),
        ("Exits", "crashed", "exited with status 7"),
    ],
)
def test_death_is_reported(worker: WorkerProcess, tmp_path: Path, compiler: str, kind: str, text: str) -> None:
    failure = failure_of(worker, tmp_path, compiler)
    assert (failure.phase, failure.kind, failure.message) == ("compile", kind, text)
    assert not worker.alive


def test_the_end_of_standard_error_is_kept(worker: WorkerProcess, tmp_path: Path) -> None:
    assert "about to crash" in failure_of(worker, tmp_path, "Segfaults").stderr_tail


def test_system_exit_is_an_exception_like_others(worker: WorkerProcess, tmp_path: Path) -> None:
    assert failure_of(worker, tmp_path, "SaysExit").message == "SystemExit: bye"


def test_a_hanging_phase_is_killed(worker: WorkerProcess, tmp_path: Path) -> None:
    failure = failure_of(worker, tmp_path, "Hangs", timeout_s=1.5)
    assert (failure.phase, failure.kind) == ("compile", "timed out")
    assert failure.message == "took longer than 1.5 s and was killed"
    assert not worker.alive


def test_a_growing_worker_is_killed_at_its_limit(worker: WorkerProcess, tmp_path: Path) -> None:
    failure = failure_of(worker, tmp_path, "Hungry")
    assert (failure.phase, failure.kind) == ("compile", "out of memory")
    assert "0.39 GiB" in failure.message


def test_what_a_worker_starts_counts_towards_its_limit(worker: WorkerProcess, tmp_path: Path) -> None:
    failure = failure_of(worker, tmp_path, "HungryElsewhere", timeout_s=20)
    assert (failure.phase, failure.kind) == ("compile", "out of memory")
    assert "grew, with 1 process that it started, over the limit of 0.39 GiB" in failure.message
    assert family(worker.pid) <= {worker.pid}, "the process that grew has ended, too"


def test_a_failure_after_standard_error_was_emptied_is_that_failure(
    worker: WorkerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure_of(worker, tmp_path, "Raises")  # writes a traceback
    monkeypatch.setattr("pytest_ngraph.bench.processes.process.FLOOD_BYTES", 0)
    failure = failure_of(worker, tmp_path, "Exits")
    assert (failure.kind, failure.message) == ("crashed", "exited with status 7")


def test_a_kill_from_outside_is_taken_for_lack_of_memory(worker: WorkerProcess) -> None:
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerFailed, match="SIGKILL"):
        worker.request("measure", timeout_s=30, calls=1)


def test_a_killed_worker_leaves_its_files_where_the_parent_removes_them(worker: WorkerProcess, tmp_path: Path) -> None:
    failure_of(worker, tmp_path, "Segfaults")
    assert list(tmp_path.glob("ngraph-compiled-*"))


def test_what_gives_wrong_outputs_is_not_kept_to_be_timed(worker: WorkerProcess, tmp_path: Path) -> None:
    answer = worker.request("prepare", timeout_s=30, **preparation(tmp_path, "Wrong"))
    assert answer["agreement"]["problem"]
    with pytest.raises(WorkerFailed, match="KeyError"):
        worker.request("measure", timeout_s=30, calls=1)


def test_a_workload_that_leaves_the_folder_takes_no_other_with_it(
    worker: WorkerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nets.py").write_text(
        "import os, pathlib, torch\n"
        "def away():\n    os.chdir('/')\n    return torch.nn.Linear(4, 3), torch.ones(1, 4)\n"
        "def reads():\n    pathlib.Path('weights.txt').read_text()\n    return torch.nn.Linear(4, 3), torch.ones(1, 4)"
    )
    (tmp_path / "weights.txt").touch()
    monkeypatch.syspath_prepend(tmp_path)
    process = WorkerProcess(cores=(0,), temporary=tmp_path, home=Home(folder=tmp_path))
    try:
        for function in ("away", "reads"):
            (folder := tmp_path / function).mkdir()
            case = Case(workload=f"nets:{function}", compiler="identity", batch_size=1)
            assert process.request("export", timeout_s=60, case=case.to_dict(), folder=str(folder))["digest"]
    finally:
        process.close()


def test_where_the_gpu_uses_the_machines_memory_that_counts_to_the_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The process itself holds little; the board comes to hold 3 GiB more, as when a GPU allocates."""
    in_use = iter([2**30])
    monkeypatch.setattr("pytest_ngraph.bench.processes.process.in_use_bytes", lambda: next(in_use, 4 * 2**30))
    monkeypatch.setattr("pytest_ngraph.bench.processes.process.holds_more", lambda members, limit: False)
    worker = WorkerProcess(cores=(0,), temporary=tmp_path, memory_bytes=2 * 2**30, unified=True)
    with pytest.raises(_Ended, match="grew over the limit of 2 GiB") as ended:
        worker._bound_memory()
    assert ended.value.kind == "out of memory"
    assert not worker.alive
    worker.close()
