"""What serving costs, measured beside the times of a group by real processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import plain
import pytest
from forking import LightServer
from two_trees import Compare

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.asked import Asked
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.bench.rounds.serving import ServingCosts
from pytest_ngraph.case import Case
from pytest_ngraph.costs import Costs
from pytest_ngraph.deploy.readme import _device
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings

SETTINGS = Settings(budget_s=0.01, warmup_s=0.01, min_rounds=6)
MIB = 2**20


@pytest.fixture(scope="module", autouse=True)
def _launched_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_ngraph.bench.rounds.serving.LAUNCHES", 1)
        yield


@pytest.fixture(scope="module")
def records(light_server: LightServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    """Records of several compilers in one group, by the compiler's class. Those of `mine:Exact` were not asked for."""
    names = ["Remembers", "Unloadable", "DiesDeploying"]
    cases = [Case(workload="plain", compiler=f"deployable:{name}", batch_size=1) for name in names]
    cases.append(Case(workload="plain", compiler="mine:Exact", batch_size=1))
    folder = tmp_path_factory.mktemp("project")
    plain.put_into(folder)
    with pytest.MonkeyPatch.context() as patch, light_server.used():
        patch.syspath_prepend(str(folder))
        with closing(Bench(SETTINGS, BUILT_IN["cpu"].target, asked=Asked(served=cases[:-1]))) as bench:
            found = {record.case.compiler.partition(":")[2]: record for record in bench.run(cases)}
    assert {record.outcome for record in found.values()} == {"measured"}
    return found


def test_it_is_measured_where_it_is_asked_for(records: dict[str, Record]) -> None:
    costs = records["Remembers"].serving
    assert costs
    assert (len(costs.launches), costs.problem) == (1, "")
    assert costs.artifact_bytes
    assert costs.install_bytes
    assert costs.install_bytes > MIB, "NumPy"
    assert records["Exact"].serving is None


def test_what_cannot_be_deployed_or_served_says_why_and_keeps_its_times(records: dict[str, Record]) -> None:
    problems = {name: record.serving.problem for name, record in records.items() if record.serving}
    assert problems["DiesDeploying"] == "it cannot be deployed: crashed with SIGSEGV"
    assert problems["Unloadable"] == "a process that serves ended with status 1: OSError: no such driver"
    assert all(record.rounds and record.stable is not None for record in records.values())


def test_deploying_does_not_count_to_the_peak_of_the_process_that_measures(records: dict[str, Record]) -> None:
    dying, other = (records[name].worker_memory_bytes for name in ("DiesDeploying", "Remembers"))
    assert dying
    assert other
    assert abs(dying - other) < 200 * MIB, "read before it deployed and died"


def test_a_smoke_test_measures_none() -> None:
    case = Case(workload="plain", compiler="mine:Exact", batch_size=1)
    for smoke in (True, False):
        costs = ServingCosts([case], Path(), Settings(smoke=smoke), Silent())
        assert costs.asks(case) is not smoke


@pytest.mark.parametrize(("listed", "seen"), [("", "1"), ("4,7", "7")])
def test_a_process_that_serves_sees_only_the_gpu_that_was_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, listed: str, seen: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", listed)
    target = Target(kind="cuda", index=1)
    arm: Any = SimpleNamespace(
        can_run=True, target=target, deploy=lambda folder: SimpleNamespace(costs=Costs(), packages=())
    )
    deployment = ServingCosts([], tmp_path, Settings(), Silent()).write(arm)
    assert deployment
    assert deployment.place
    assert deployment.place.variables["CUDA_VISIBLE_DEVICES"] == seen
    assert f"`CUDA_VISIBLE_DEVICES={seen}`" in _device(target)
    assert _device(Target()) == ""


def test_head_and_base_are_launched_in_turn(crowd: Compare) -> None:
    (record,) = crowd("deployable:Remembers", serving=True)
    assert record.comparison
    for costs in (record.serving, record.comparison.serving):
        assert costs
        assert (len(costs.launches), costs.problem) == (1, "")


def test_a_head_that_cannot_be_deployed_does_not_hide_what_the_base_costs(crowd: Compare) -> None:
    (record,) = crowd("deployable:Remembers", head="deployable:Unloadable", serving=True)
    assert record.serving
    assert record.serving.problem.endswith("OSError: no such driver")
    assert record.comparison
    assert record.comparison.serving
    assert len(record.comparison.serving.launches) == 1


def test_a_head_without_its_base_is_launched_by_itself(crowd: Compare) -> None:
    (record,) = crowd("faulty:Aborts", head="deployable:Remembers", serving=True)
    assert record.outcome == "measured"
    assert record.serving
    assert len(record.serving.launches) == 1
