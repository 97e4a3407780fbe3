"""What a compiler can do to its worker: each fault costs its own case, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_project import Project, finished

from pytest_ngraph.record import Record

FAILURES = {
    "mine:Raises": ("raised", "compile", "ValueError: no such operator"),
    "mine:Segfaults": ("crashed", "compile", "crashed with SIGSEGV"),
    "mine:SegfaultsMeasuring": ("crashed", "measure", "crashed with SIGSEGV"),
    "mine:Exits": ("crashed", "compile", "exited with status 7"),
    "mine:Hungry": ("out of memory", "compile", "grew over the limit"),
    "mine:Wrong": ("disagreed", "verify", ""),
    "faulty:WrongOnceWarm": ("disagreed", "verify", ""),
    "faulty:Aborts": ("crashed", "compile", "crashed with SIGABRT"),
    "faulty:KilledFromOutside": ("out of memory", "warm-up", "killed from outside"),
    "faulty:Asks": ("raised", "compile", "EOFError"),
    "faulty:ForksAndCrashes": ("crashed", "compile", "crashed with SIGSEGV"),
    "faulty:Babbles": ("crashed", "compile", "wrote to the pipe reserved for its answers"),
    "faulty:ClosesDescriptors": ("crashed", "compile", ""),
}
HANGS = {
    "mine:Hangs": ("timed out", "compile", ""),
    "faulty:Stops": ("timed out", "compile", ""),
    "faulty:HangsVerifying": ("timed out", "verify", ""),
    "faulty:HangsWarmingUp": ("timed out", "warm-up", ""),
    "faulty:HangsMeasuring": ("timed out", "measure", ""),
}
SURVIVORS = (
    "mine:Exact",
    "faulty:Floods",
    "faulty:LeavesChildren",
    "faulty:Forks",
    "faulty:LeavesThreads",
    "faulty:Wanders",
)
CLOSING = {"faulty:HangsClosing": "took longer than 4 s and was killed", "faulty:RaisesClosing": "IndexError"}

LIMITS = ("--ngraph-timeout=4", "--ngraph-memory=300MiB")

Records = dict[str, list[Record]]
"""By compiler."""


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Project]:
    """Return projects by name after a run: `once` of what hangs, `twice` with each surviving worker used again.

    Both run at the same time, because the first mostly waits.
    """
    once = Project(tmp_path_factory.mktemp("once"), compilers=["mine:Exact", *HANGS, "faulty:HangsClosing"])
    compilers = [*SURVIVORS, *FAILURES, "faulty:RaisesClosing"]
    twice = Project(tmp_path_factory.mktemp("twice"), batch_sizes=[1, 2], compilers=compilers)
    for status, printed in map(finished, [once.start(*LIMITS), twice.start(*LIMITS)]):
        assert status == pytest.ExitCode.TESTS_FAILED, printed
        assert "INTERNALERROR" not in printed
    return {"once": once, "twice": twice}


@pytest.fixture(scope="module")
def records(projects: dict[str, Project]) -> Records:
    """Return what both runs recorded."""
    found: Records = {}
    for record in (*projects["once"].records.values(), *projects["twice"].records.values()):
        found.setdefault(record.case.compiler, []).append(record)
    return found


@pytest.mark.parametrize("compiler", FAILURES | HANGS)
def test_it_fails_its_own_case(records: Records, compiler: str) -> None:
    kind, phase, message = (FAILURES | HANGS)[compiler]
    for record in records[compiler]:
        assert record.failure is not None
        assert (record.failure.kind, record.failure.phase) == (kind, phase)
        assert message in record.failure.message


@pytest.mark.parametrize("compiler", SURVIVORS)
def test_it_disturbs_no_measurement(records: Records, compiler: str) -> None:
    assert {(record.outcome, record.failure) for record in records[compiler]} == {("measured", None)}


@pytest.mark.parametrize("compiler", CLOSING)
def test_what_was_measured_stands_when_the_model_cannot_be_closed(records: Records, compiler: str) -> None:
    for record in records[compiler]:
        assert record.outcome == "measured"
        assert CLOSING[compiler] in record.facts["closing"]


@pytest.mark.parametrize("name", ["once", "twice"])
def test_each_case_has_one_record_and_resumed_they_all_stand(projects: dict[str, Project], name: str) -> None:
    project = projects[name]
    before = project.records
    assert set(before) == project.expected
    assert project.doubled == []
    project.assert_nothing_left()
    status, printed = project.run(f"--ngraph-resume={project.run_ids[-1]}", *LIMITS)
    assert status == pytest.ExitCode.TESTS_FAILED
    assert f"{len(before)} cases of run {project.run_ids[-1]} taken over" in printed
    assert project.records == before
    project.assert_nothing_left()


def test_a_workload_that_hangs(tmp_path: Path) -> None:
    made = Project(tmp_path)
    (made.root / "numbers.txt").write_text("hang")
    status, _ = made.run("--ngraph-timeout=2")
    (record,) = made.records.values()
    assert status == pytest.ExitCode.TESTS_FAILED
    assert record.failure is not None
    assert (record.failure.kind, record.failure.phase) == ("timed out", "build")
    made.assert_nothing_left()
