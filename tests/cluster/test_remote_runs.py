"""Runs of pytest whose cases are measured on devices, all on one cluster: none of them ends a part of it."""

from __future__ import annotations

from pathlib import Path

from cluster.processes import Cluster
from cluster.remote_project import RemoteProject, agents_of, measured_on
from fault_project import finished, wait_until


def test_cases_are_measured_on_their_devices(two: Cluster, tmp_path: Path) -> None:
    workloads = ["plain_here", "plain_there"]
    project = RemoteProject(tmp_path, two, ["red", "green"], workloads=workloads, batch_sizes=[1, 2])
    (project.root / ".env").write_text("TOKEN=x")
    status, printed = project.run("-v", "--ngraph-tails=0.05")
    assert status == 0, printed
    assert "not sent to devices, since they look like secrets: .env (its name)" in " ".join(printed.split())
    for device in ("red", "green"):
        assert list(two.home(device).glob("projects/*")) == [], "the project is still there after the session"
    project.assert_whole()
    for device in ("red", "green"):
        assert sorted(case for case in measured_on(two, device) if case.startswith(tuple(workloads))) == sorted(
            f"{workload}-mine:Exact-{size}" for workload in workloads for size in (1, 2)
        )
    wait_until(lambda: not [agent for device in ("red", "green") for agent in agents_of(two, device)])
    run = project.newest
    assert set(run.environments) == {"red", "green"}
    assert run.environment_of("red")["fingerprint"] == run.environment["fingerprint"]
    assert "ngraph: cluster tcp://127.0.0.1" in printed
    assert all(record.follows_from and record.nodeid and record.calls for record in run.records)


def test_what_serving_costs_is_asked_of_the_device(two: Cluster, tmp_path: Path) -> None:
    project = RemoteProject(tmp_path, two, ["red"])
    status, printed = project.run("--ngraph-serving")
    assert status == 0, printed
    costs = [record.serving for record in project.records.values()]
    assert {own.problem if own else "" for own in costs} == {
        "it cannot be deployed: mine:Exact has no method deploy; docs/add-a-compiler.md says what it returns"
    }


def test_an_absent_device_is_one_error_at_the_start(two: Cluster, tmp_path: Path) -> None:
    status, printed = RemoteProject(tmp_path, two, ["red", "blue"]).run()
    assert status == 4
    (error,) = [line for line in printed.splitlines() if line.startswith("ERROR")]
    assert error.startswith(f"ERROR: device blue is not in the cluster at {two.address}; devices there: green (free), ")
    assert "red (free)" in error


def test_absent_devices_are_waited_for(two: Cluster, tmp_path: Path) -> None:
    project = RemoteProject(tmp_path, two, ["late"])
    run = project.start("--ngraph-wait-for-devices=100")
    two.start_device("late")
    status, printed = finished(run)
    assert status == 0, printed
    project.assert_whole()


def test_a_pool_shares_its_cases(two: Cluster, tmp_path: Path) -> None:
    for name in ("pool-1", "pool-2"):
        two.start_device(name, "--device=pool")
    project = RemoteProject(tmp_path, two, ["pool"], workloads=[f"plain{n}" for n in range(6)])
    status, printed = project.run()
    assert status == 0, printed
    project.assert_whole()
    shares = [measured_on(two, name) for name in ("pool-1", "pool-2")]
    assert all(shares)
    assert sum(map(len, shares)) == 6


def test_what_fails_is_a_record_and_the_rest_goes_on(two: Cluster, tmp_path: Path) -> None:
    compilers = ["mine:Exact", "mine:Raises", "mine:Segfaults", "mine:Absent"]
    project = RemoteProject(tmp_path, two, ["red"], workloads=["plain"], compilers=compilers)
    status, printed = project.run("-rs")
    assert status == 1
    outcomes = {record.case.compiler: record.outcome for record in project.records.values()}
    assert outcomes == {"mine:Exact": "measured", "mine:Raises": "failed", "mine:Segfaults": "failed"}
    assert "on red: mine:Absent needs no_such_library, which is not installed: pip install no_such_library" in printed


def test_a_case_that_takes_the_measuring_process_with_it_is_given_up_after_one_retry(
    two: Cluster, tmp_path: Path
) -> None:
    compilers = ["mine:Exact", "faulty:DiesWithItsRun"]
    project = RemoteProject(tmp_path, two, ["red"], workloads=["plain"], compilers=compilers)
    status, printed = project.run()
    assert status == 1
    records = {record.case.compiler: record for record in project.records.values()}
    failure = records["faulty:DiesWithItsRun"].failure
    assert failure is not None
    assert failure.message == "the measuring process died 2 times while it ran this case"
    assert records["mine:Exact"].outcome == "measured", printed


def test_tests_that_compile_in_their_own_process_are_skipped(two: Cluster, tmp_path: Path) -> None:
    project = RemoteProject(tmp_path, two, ["red"])
    (project.root / "test_it.py").write_text(
        "import pytest\n\n"
        "@pytest.mark.ngraph(workload='plain', compiler='mine:Exact')\n"
        "def test_it(benchmark, compiled_model):\n    benchmark(compiled_model)\n"
    )
    status, printed = project.run("-rs")
    assert status == 0
    assert "red is another machine, and this test compiles in its own process" in printed
