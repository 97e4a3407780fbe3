"""Remote runs while a part of the cluster fails: in the end every case is recorded once."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest
from cluster.processes import Cluster
from cluster.remote_project import RemoteProject, agents_of, measured_on
from fault_project import PATIENCE_S, finished, wait_until

from pytest_ngraph.bench.processes.lock import LOCK
from pytest_ngraph.cluster.client.watch import AWAY_S

CASES = 10


@pytest.fixture
def red(loopback: Cluster) -> Cluster:
    """A cluster with the device `red`."""
    loopback.start_device("red")
    return loopback


@pytest.fixture
def project(red: Cluster, tmp_path: Path) -> RemoteProject:
    return RemoteProject(tmp_path, red, ["red"], workloads=[f"plain{number}" for number in range(CASES)])


def assert_measured_once(cluster: Cluster) -> None:
    counts = Counter(measured_on(cluster, "red"))
    assert len(counts) == CASES
    assert set(counts.values()) == {1}, counts


def assert_nothing_left(cluster: Cluster) -> None:
    """Assert that no agent of the device is left, nor any temporary file of one."""
    temporary = Path(cluster.environment("red")["TMPDIR"])
    wait_until(lambda: not agents_of(cluster, "red"))
    wait_until(lambda: {path.name for path in temporary.iterdir()} <= {LOCK.name})


def test_a_client_that_was_killed_goes_on_with_what_the_device_did(red: Cluster, project: RemoteProject) -> None:
    run = project.start()
    project.wait_for(2, run)
    run.kill()
    finished(run)
    status, printed = project.run("--ngraph-resume")
    assert status == 0, printed
    project.assert_whole()
    assert_measured_once(red)
    assert_nothing_left(red)


def test_an_interrupted_client_leaves_nothing_that_measures(red: Cluster, project: RemoteProject) -> None:
    run = project.start()
    project.wait_for(2, run)
    run.send_signal(signal.SIGINT)
    status, printed = finished(run)
    assert status == 2, printed
    assert_nothing_left(red)
    kept = [path.relative_to(red.home("red")).parts[0] for path in red.home("red").rglob("*") if path.is_file()]
    assert set(kept) <= {"store", "scratch", "audit.jsonl"}, "records stay, the project does not"
    assert len(measured_on(red, "red")) < CASES
    status, printed = project.run("--ngraph-resume")
    assert status == 0, printed
    project.assert_whole()


@pytest.mark.slow
def test_a_scheduler_that_is_restarted_is_found_again(red: Cluster, project: RemoteProject) -> None:
    run = project.start()
    project.wait_for(2, run)
    red.kill("head")
    red.start_scheduler()
    status, printed = finished(run)
    assert status == 0, printed
    project.assert_whole()
    assert_measured_once(red)


def test_a_device_that_is_killed_goes_on_once_it_is_back(red: Cluster, project: RemoteProject) -> None:
    run = project.start()
    project.wait_for(2, run)
    red.kill("red")
    red.start_device("red")
    status, printed = finished(run)
    assert status == 0, printed
    project.assert_whole()
    assert_measured_once(red)


@pytest.mark.slow
def test_a_case_that_takes_its_device_with_it_is_given_up_after_one_retry(red: Cluster, tmp_path: Path) -> None:
    compilers = ["mine:Exact", "faulty:TakesItsDevice"]
    project = RemoteProject(tmp_path, red, ["red"], workloads=["plain1", "plain2"], compilers=compilers)
    run = project.start()
    deaths = 0
    while run.poll() is None:
        wait_until(lambda: red.is_over("red") or run.poll() is not None)
        if red.is_over("red"):
            deaths += 1
            red.start_device("red")
    status, printed = finished(run)
    assert status == 1, printed
    assert deaths == 4
    outcomes = {case: record.outcome for case, record in project.records.items()}
    assert outcomes == {case: "measured" if "Exact" in case else "failed" for case in project.expected}
    assert project.doubled == []


@pytest.mark.slow
def test_an_unused_agent_does_not_outlive_its_device(red: Cluster, project: RemoteProject) -> None:
    run = project.start()
    project.wait_for(2, run)
    (agent,) = agents_of(red, "red")
    red.kill("red")
    wait_until(lambda: not agent.is_running() or agent.status() == "zombie")
    run.send_signal(signal.SIGINT)
    status, printed = finished(run)
    assert status == 2, printed


@pytest.mark.slow
def test_a_device_that_is_away_for_a_quarter_of_an_hour(red: Cluster, tmp_path: Path) -> None:
    """In real time: its cases are skipped, those of others are measured, and resuming measures the rest."""
    red.start_device("blue")
    project = RemoteProject(tmp_path, red, ["red", "blue"], workloads=[f"plain{number}" for number in range(CASES)])
    run = project.start("-rs")
    project.wait_for(2, run)
    red.kill("red")
    printed, _ = run.communicate(timeout=AWAY_S + PATIENCE_S)
    assert run.returncode == 0, printed
    assert "device red has been away for 15 minutes. Once it is back, --ngraph-resume continues" in printed
    assert len([case for case in project.records if case.endswith("-blue")]) == CASES
    assert "the run ended before: --ngraph-resume continues it" in printed
    red.start_device("red")
    status, printed = project.run("--ngraph-resume")
    assert status == 0, printed
    project.assert_whole()
    assert_measured_once(red)


@pytest.mark.slow
def test_a_frozen_device_stalls_nobody(red: Cluster, tmp_path: Path) -> None:
    red.start_device("blue")
    project = RemoteProject(tmp_path, red, ["red", "blue"], workloads=[f"plain{number}" for number in range(CASES)])
    run = project.start()
    wait_until(lambda: bool(measured_on(red, "blue")))
    red.signal("blue", signal.SIGSTOP)
    wait_until(lambda: len(measured_on(red, "red")) == CASES)
    wait_until(lambda: len([case for case in project.records if case.endswith("-red")]) == CASES)
    assert run.poll() is None
    red.signal("blue", signal.SIGCONT)
    status, printed = finished(run)
    assert status == 0, printed
    project.assert_whole()
