"""The gate on devices: base and head are measured there, and judged here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from cluster.processes import Cluster
from cluster.remote_project import RemoteProject, measured_on
from fault_project import finished
from repository import Repository

SLEEPS = """
class Sleeps(Exact):
    def load(self, artifact, target, folder):
        seconds = artifact.reference()[-1][0][0]
        return Model(artifact.reference(), lambda: time.sleep(seconds))
"""
QUICK, SLOW = "0.001 2 3", "0.01 2 3"
"""So far apart that other tests may run beside these."""


@pytest.fixture
def red(loopback: Cluster) -> Cluster:
    """A cluster with the device `red`, for one test."""
    loopback.start_device("red")
    return loopback


def sleeper(cluster: Cluster, tmp_path: Path, workloads: Sequence[str]) -> tuple[RemoteProject, Repository]:
    """Make a project on one device whose cases take as long as its file of numbers says. In `main` they are quick."""
    project = RemoteProject(tmp_path, cluster, ["red"], workloads=workloads, compilers=["mine:Sleeps"])
    repository = Repository.create(project.root)
    repository.write(".gitignore", ".ngraph\n")
    repository.write("mine.py", (project.root / "mine.py").read_text() + SLEEPS)
    repository.write("numbers.txt", QUICK)
    repository.commit("quick")
    return project, repository


def test_what_became_slower_fails(two: Cluster, tmp_path: Path) -> None:
    project, repository = sleeper(two, tmp_path, ["plain"])
    repository.write("numbers.txt", SLOW)
    status, printed = project.run("--ngraph-against=main")
    assert status == 1, printed
    assert "Against main at " in printed
    assert "1 regressed" in printed
    (record,) = project.records.values()
    assert record.comparison is not None
    assert sum(launch.fresh for launch in record.comparison.launches) >= 3
    assert repository.worktrees() == 1


UNREAD = """
import pytest

@pytest.mark.ngraph(workload="plain1")
def test_it(measurement): ...

@pytest.mark.ngraph(workload="plain2")
def test_reads(measurement):
    assert measurement.throughput > 0
"""


def test_what_did_not_change_is_measured_on_a_device_only_when_it_is_read(two: Cluster, tmp_path: Path) -> None:
    project, repository = sleeper(two, tmp_path, ["plain1", "plain2"])
    repository.write("test_it.py", UNREAD)
    status, printed = project.run("--ngraph-against=main", "--compiler=mine:Sleeps", "--batch-size=1")
    assert status == 0, printed
    records = {record.case.workload: record for record in project.records.values()}
    assert {workload: record.outcome for workload, record in records.items()} == {
        "plain1": "unchanged",
        "plain2": "measured",
    }
    assert not records["plain1"].rounds
    assert "2 unchanged" in printed


def test_what_a_device_cannot_run_any_more_is_lost(two: Cluster, tmp_path: Path) -> None:
    project = RemoteProject(tmp_path, two, ["red"], workloads=["plain"], compilers=["lacking:Picky"])
    repository = Repository.create(project.root)
    repository.write(".gitignore", ".ngraph\n")
    repository.write("numbers.txt", "1 2 3")
    repository.commit("every operator is known")
    repository.write("numbers.txt", "1 2 9")
    status, printed = project.run("--ngraph-against=main")
    assert status == 1, printed
    assert "lost: picky cannot convert the operator Big; main at " in printed


@pytest.mark.slow
def test_a_killed_client_goes_on_with_its_comparisons(red: Cluster, tmp_path: Path) -> None:
    project, repository = sleeper(red, tmp_path, ["plain1", "plain2", "plain3"])
    repository.write("numbers.txt", SLOW)
    run = project.start("--ngraph-against=main")
    project.wait_for(1, run)
    run.kill()
    finished(run)
    before = project.records
    status, printed = project.run("--ngraph-against=main", "--ngraph-resume")
    assert status == 1, printed
    assert "3 regressed" in printed
    assert {case: project.records[case] for case in before} == before
    assert set(Counter(measured_on(red, "red")).values()) == {1}
    assert repository.worktrees() == 1


@pytest.mark.alone
@pytest.mark.slow
def test_what_devices_measured_is_a_baseline_of_theirs(red: Cluster, tmp_path: Path) -> None:
    project, repository = sleeper(red, tmp_path, ["plain1", "plain2"])
    status, printed = project.run("--ngraph-save=v1")
    assert status == 0, printed
    assert "baseline v1" in printed
    status, printed = project.run("--ngraph-compare=v1")
    assert status == 0, printed
    assert "Against baseline v1: " in printed
    repository.write("numbers.txt", SLOW)
    status, printed = project.run("--ngraph-compare=v1")
    assert status == 1, printed
    assert "Against baseline v1: 2 regressed" in printed
