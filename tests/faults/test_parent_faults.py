"""What can happen to pytest itself, and to the machine below it."""

from __future__ import annotations

import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from fault_project import Project, finished, wait_until

from pytest_ngraph import store
from pytest_ngraph.record import Record

REAPER = "pytest_ngraph.bench.processes.reaper"


@pytest.fixture
def slow(tmp_path: Path) -> Project:
    """Return a project of six cases, slow enough to do something to its run."""
    made = Project(tmp_path, workloads=["plain1", "plain2", "plain3"], batch_sizes=[1, 2])
    (made.root / "pytest.ini").write_text((made.root / "pytest.ini").read_text().replace("= 0.01", "= 0.6"))
    return made


def test_two_runs_that_start_together_may_take_the_same_cores_because_they_measure_in_turn(tmp_path: Path) -> None:
    """Also compiling and loading: each has the machine to itself for a whole group of cases. They share a store."""
    project = Project(tmp_path, workloads=["plain1", "plain2", "plain3"], compilers=["faulty:Exclusive"])
    runs = [project.start(), project.start()]
    for status, printed in map(finished, runs):
        assert status == 0, printed
    assert len(project.run_ids) == 2
    by_run = [store.read(project.store, run).records for run in project.run_ids]
    assert [{record.case.id for record in records} for records in by_run] == [project.expected] * 2
    records = [record for records in by_run for record in records]
    assert [record.outcome for record in records] == ["measured"] * 6
    assert len({tuple(record.follows_from["target"]["cores"]) for record in records}) == 1
    project.assert_nothing_left()


def test_signals_end_the_run_with_its_report(slow: Project) -> None:
    """The interrupt of a terminal, the signal of a service manager, and at last two interrupts of somebody impatient,
    after which there may be none."""
    kept: list[Record] = []
    for signals in ([signal.SIGINT], [signal.SIGTERM], [signal.SIGINT, signal.SIGINT]):
        run = slow.start("--ngraph-resume")
        slow.wait_for(max(2, len(kept) + 1), run)
        for number in signals:
            run.send_signal(number)
        status, printed = finished(run)
        before = slow.records
        if len(signals) == 1:
            assert status == pytest.ExitCode.INTERRUPTED, printed
            assert "Stored as" in printed
            assert not store.read(slow.store).deaths
        assert status != 0
        assert 2 <= len(before) < len(slow.expected)
        assert [before[record.case.id] for record in kept] == kept
        slow.assert_nothing_left()
        kept = list(before.values())
    slow.assert_resumes(kept=kept)


def test_a_kill_and_one_of_the_reaper_too(slow: Project) -> None:
    """After the second, as after a power failure, nobody is there to clean up: the next run does."""
    run = slow.start()
    slow.wait_for(2, run)
    run.send_signal(signal.SIGKILL)
    assert finished(run)[0] == -signal.SIGKILL
    first = slow.records
    slow.assert_nothing_left()
    printed = slow.run("--collect-only")[1]
    assert f"run {slow.run_ids[-1]} was not finished: --ngraph-resume continues it" in printed
    run = slow.start("--ngraph-resume")
    slow.wait_for(len(first) + 1, run)
    (reaper,) = [child for child in psutil.Process(run.pid).children() if REAPER in child.cmdline()]
    reaper.kill()
    run.send_signal(signal.SIGKILL)
    finished(run)
    assert list(slow.temporary.glob("ngraph-bench-*"))
    second = slow.records
    assert {case: second[case] for case in first} == first
    slow.assert_resumes(kept=second.values())
    assert len(slow.run_ids) == 1


def test_a_case_that_takes_its_run_with_it(tmp_path: Path) -> None:
    """It is tried once more and then left out, so that the run can end."""
    made = Project(tmp_path, workloads=["plain1"], compilers=["mine:Exact"])
    made.write_tests(["plain1", "plain2"], [1], ["mine:Exact", "faulty:DiesWithItsRun"])
    for _ in range(2):
        assert made.run("--ngraph-resume")[0] == -signal.SIGKILL
    (fatal,) = store.read(made.store).crashed[:1]
    status, printed = made.run("--ngraph-resume")
    assert status == -signal.SIGKILL, printed  # the second such case
    assert made.run("--ngraph-resume")[0] == -signal.SIGKILL
    status, printed = made.run("--ngraph-resume")
    assert status == pytest.ExitCode.TESTS_FAILED, printed
    assert "the run died 2 times while this case was in it" in printed
    failure = made.records[fatal.id].failure
    assert failure is not None
    assert (failure.kind, failure.phase) == ("crashed", "compile")
    assert set(made.records) == made.expected
    assert [record.outcome for record in made.records.values()].count("measured") == 2
    made.assert_nothing_left()


def test_a_disk_that_is_full(small: Project) -> None:
    """No file may grow beyond a limit, so that a line is cut short."""
    limit = 6000

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    status, printed = small.run(preexec_fn=bound)
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "cannot write to the store" in printed
    assert "Traceback" not in printed
    run = store.read(small.store)
    assert run.damaged == 1
    assert 0 < len(run.records) < len(small.expected)
    small.assert_nothing_left()
    assert "left out: line" in small.assert_resumes(kept=run.records)


@pytest.fixture
def disk(small: Project) -> Iterator[Path]:
    """Yield a separate disk that holds the store."""
    small.store.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small.store], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    yield small.store
    subprocess.run(["umount", "--lazy", small.store], check=True)


def test_a_disk_that_fills_up_under_way_and_later_becomes_read_only(small: Project, disk: Path) -> None:
    run = small.start()
    small.wait_for(1, run)
    with pytest.raises(OSError, match="No space"):
        (disk / "other").write_bytes(bytes(2**21))
    status, printed = finished(run)
    assert status == pytest.ExitCode.TESTS_FAILED, printed
    assert "No space left on device" in printed
    before = small.records
    (disk / "other").unlink()
    small.assert_resumes(kept=before.values())
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    status, printed = small.run()
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "Read-only file system" in printed
    assert "Traceback" not in printed


def test_a_store_that_is_deleted_under_way(slow: Project) -> None:
    run = slow.start()
    slow.wait_for(2, run)
    before = slow.records
    shutil.rmtree(slow.store)
    status, printed = finished(run)
    assert status == 0, printed
    assert set(slow.records) == slow.expected
    assert {case: slow.records[case] for case in before} == before
    assert store.read(slow.store).whole
    slow.assert_nothing_left()


def test_seconds_that_are_over(slow: Project) -> None:
    status, printed = slow.run("--ngraph-max-seconds=2", "-rs")
    assert status == 0, printed
    assert "the time of --ngraph-max-seconds=2 is over; --ngraph-resume continues the run" in printed
    before = slow.records
    assert len(before) < len(slow.expected)
    slow.assert_nothing_left()
    slow.assert_resumes(kept=before.values())


def test_a_temporary_folder_that_is_deleted_under_way(slow: Project) -> None:
    run = slow.start()
    slow.wait_for(1, run)
    wait_until(lambda: bool(list(slow.temporary.glob("ngraph-bench-*"))))
    shutil.rmtree(slow.temporary, ignore_errors=True)
    slow.temporary.mkdir(exist_ok=True)
    status, printed = finished(run)
    assert status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED), printed
    assert "INTERNALERROR" not in printed
    assert set(slow.records) == slow.expected
    assert len([record for record in slow.records.values() if record.outcome == "measured"]) >= 4


def test_processes_that_are_stopped_and_go_on_beside_another_run_that_wants_to_resume_theirs(slow: Project) -> None:
    """They are stopped as by pausing a container, or by a debugger."""
    run = slow.start()
    slow.wait_for(1, run)
    parent = psutil.Process(run.pid)
    stopped = [parent, *parent.children(recursive=True)]
    for process in stopped:
        process.suspend()
    began = time.monotonic()
    status, printed = slow.run(f"--ngraph-resume={slow.run_ids[-1]}")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "another process writes to run" in printed
    assert "Traceback" not in printed
    time.sleep(max(0.0, began + 2 - time.monotonic()))
    for process in stopped:
        process.resume()
    status, printed = finished(run)
    assert status == 0, printed
    assert set(slow.records) == slow.expected
    slow.assert_nothing_left()
