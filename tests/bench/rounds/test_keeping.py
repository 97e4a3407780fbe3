"""Where the time of cases goes, profiled after their rounds by real processes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import plain
import pytest

from pytest_ngraph.bench.asked import Asked
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.case import Case
from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings

SETTINGS = Settings(budget_s=0.01, warmup_s=0.01, min_rounds=6)
NAMES = ("Instrumented", "RefusesProfiling", "DiesProfiling")


def measured(folder: Path, patch: pytest.MonkeyPatch, settings: Settings = SETTINGS) -> dict[str, Record]:
    """Measure some compilers in one group, the last of which nobody asks to profile."""
    cases = [Case(workload="plain", compiler=f"instrumented:{name}", batch_size=1) for name in NAMES]
    cases.append(Case(workload="plain", compiler="mine:Exact", batch_size=1))
    plain.put_into(folder)
    patch.syspath_prepend(str(folder))
    with closing(Bench(settings, BUILT_IN["cpu"].target, asked=Asked(profiled=cases[:-1]))) as bench:
        return {record.case.compiler.partition(":")[2]: record for record in bench.run(cases)}


def test_it_is_kept_where_it_is_asked_for_and_no_problem_loses_a_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = measured(tmp_path, monkeypatch)
    assert all(record.rounds and record.worker_memory_bytes for record in records.values())
    kept = KeptProfile.from_dict(records["Instrumented"].profile)
    assert [(kernel.operator, kernel.seconds) for kernel in kept.kernels] == [("Conv", 0.001), ("Reorder", 0.002)]
    assert kept.latency_s >= 0.0005
    assert records["RefusesProfiling"].profile == {"problem": "it has no clock"}
    assert records["DiesProfiling"].profile == {"problem": "crashed in measure: crashed with SIGSEGV"}
    assert records["Exact"].profile == {}
    assert not records["Instrumented"].lacks_profile
    assert records["Exact"].lacks_profile
    assert Record.from_dict(records["Instrumented"].to_dict()) == records["Instrumented"]


def test_a_smoke_test_profiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured(tmp_path, monkeypatch, Settings(smoke=True))["Instrumented"].profile == {}
