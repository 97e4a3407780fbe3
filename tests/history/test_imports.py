from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_ngraph.cli import main
from pytest_ngraph.history import series
from pytest_ngraph.history.imports import pytest_benchmark
from pytest_ngraph.history.index import Index
from pytest_ngraph.history.series import Series
from pytest_ngraph.stats import Estimate

ASV = {
    "commit_hash": "d" * 40,
    "env_name": "virtualenv-py3.11",
    "date": 1_700_000_000_000,
    "params": {"machine": "lab", "cpu": "Xeon", "arch": "x86_64", "os": "Linux 6", "ram": "8000000", "python": "3.11"},
    "python": "3.11",
    "requirements": {"numpy": "1.26"},
    "env_vars": {},
    "result_columns": ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b"],
    "results": {
        "bench.Suite.time_plain": [[0.012], [], "v", 1_700_000_100_000, 1.0, [0.011], [0.013]],
        "bench.Suite.time_sizes": [
            [0.5, None, float("nan"), 0.75],
            [["1", "2"], ["'a'", "'b'"]],
            "v",
            1_700_000_200_000,
        ],
        "bench.Suite.mem_it": [[100], [], "v", 1_700_000_100_000],
        "bench.Suite.time_failed": [None, [], "v", 1_700_000_100_000],
    },
    "durations": {},
    "version": 2,
}


def benchmark(night: int, seconds: float, **stats: Any) -> dict[str, Any]:
    """Return what pytest-benchmark 5 writes, without the fields that are not read."""
    return {
        "machine_info": {
            "node": "lab", "processor": "x86_64", "machine": "x86_64", "python_version": "3.11.7", "system": "Linux",
            "release": "6.1", "cpu": {"brand_raw": "Xeon"},
        },
        "commit_info": {"id": f"{night:040d}", "dirty": False, "branch": "main"},
        "benchmarks": [
            {
                "fullname": "test_it.py::test_sort[8]",
                "stats": {"median": seconds, "iqr": seconds / 100, "rounds": 100, **stats},
            }
        ],
        "datetime": f"2026-{1 + night // 28:02}-{1 + night % 28:02}T02:00:00.500000+00:00",
        "version": "5.3.1",
    }  # fmt: skip


def put(file: Path, data: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data))
    return file


def loaded(store: Path) -> list[Series]:
    with Index(store) as index:
        index.update()
        return series.load(index)


def test_nights_of_pytest_benchmark_become_a_series(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for night in range(30):
        seconds = (0.010 if night < 20 else 0.012) * (1 + 0.002 * math.sin(night**2))
        put(tmp_path / "saved" / f"{night:04}_x.json", benchmark(night, seconds))
    store = tmp_path / "store"
    assert main(["history", "import", str(tmp_path / "saved"), f"--store={store}"]) == 0
    assert capsys.readouterr().out.count(": 1 result of pytest-benchmark\n") == 30
    (found,) = loaded(store)
    assert (found.case_id, found.unit, len(found.rows)) == ("test_it.py::test_sort[8]", "seconds", 30)
    assert (found.rows[3].commit, found.rows[3].branch) == (f"{3:040d}", "main")
    assert found.rows[3].latency is not None
    assert found.rows[3].latency.width == pytest.approx(2 * 1.57 * 0.01 / 10 * found.rows[3].latency.value)
    assert [step.step.place for step in found.steps] == [20]
    assert main(["history", f"--store={store}", "--fail"]) == 0, "it may be the machine"
    printed = capsys.readouterr().out
    assert "it may be the machine" in printed
    assert f"between {19:010d} and {20:010d}"[:10] in printed


@pytest.mark.parametrize("seconds", [0.0, math.nan])
def test_a_result_without_a_time_above_0_is_left_out(
    tmp_path: Path, seconds: float, capsys: pytest.CaptureFixture[str]
) -> None:
    data = benchmark(0, 0.01)
    data["benchmarks"].append({"fullname": "too quick", "stats": {"median": seconds, "iqr": 0.0, "rounds": 5}})
    file, store = put(tmp_path / "a.json", data), tmp_path / "store"
    assert main(["history", "import", str(file), f"--store={store}"]) == 0
    assert "1 result of pytest-benchmark" in capsys.readouterr().out
    assert [each.case_id for each in loaded(store)] == ["test_it.py::test_sort[8]"]


def test_one_that_an_earlier_version_took_breaks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest_benchmark, "_latency", lambda stats: Estimate(stats["median"], 0.0, 0.0))
    files = [put(tmp_path / f"{seconds}.json", benchmark(0, seconds)) for seconds in (0.0, 0.01)]
    main(["history", "import", *map(str, files), f"--store={tmp_path / 'store'}"])
    (found,) = loaded(tmp_path / "store")
    assert len(found.rows) == 1


def test_the_store_may_precede_the_action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = put(tmp_path / "a.json", benchmark(0, 0.01))
    assert main(["history", "--store=mine", "import", str(file)]) == 0
    assert loaded(tmp_path / "mine")
    assert not (tmp_path / ".ngraph").exists()
    assert main(["history", "import", str(file)]) == 0
    assert loaded(tmp_path / ".ngraph")


def test_importing_again_changes_nothing(tmp_path: Path) -> None:
    file = put(tmp_path / "a.json", benchmark(0, 0.01, data=[0.01, 0.011, 0.0105] * 5))
    for _ in range(2):
        main(["history", "import", str(file), f"--store={tmp_path / 'store'}"])
    (found,) = loaded(tmp_path / "store")
    assert len(found.rows) == 1
    assert found.rows[0].latency is not None
    assert found.rows[0].latency[:2] == (0.0105, 0.01)


def test_a_run_whose_results_two_files_have_counts_once(tmp_path: Path) -> None:
    """As `--benchmark-autosave` and `--benchmark-json` write it: one without rounds, a moment earlier."""
    random = np.random.default_rng(0)
    for night in range(40):
        seconds = 0.01 * float(random.normal(1, 0.02))
        data = benchmark(night, seconds)
        put(tmp_path / f"saved/{night:04}.json", data)
        whole = benchmark(night, seconds, data=[seconds] * 5) | {"datetime": data["datetime"].replace(":00.5", ":02.1")}
        put(tmp_path / f"json/{night}.json", whole)
    store = tmp_path / "store"
    assert main(["history", "import", str(tmp_path / "saved"), str(tmp_path / "json"), f"--store={store}"]) == 0
    (found,) = loaded(store)
    assert len(found.rows) == 40
    assert not found.steps


def test_a_benchmark_that_asv_adds_to_measured_commits_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    nights = [of_asv(night, 0.010) for night in range(5)]
    store = tmp_path / "store"
    imported(store, *nights)
    added = [each | {"results": each["results"] | {"bench.time_new": [[0.02], [], "v", 1.0]}} for each in nights]
    assert [(each.case_id, len(each.rows)) for each in imported(store, *added)] == [
        ("bench.time_it", 5),
        ("bench.time_new", 5),
    ]
    measured_again = of_asv(4, 0.011)
    (found,) = (each for each in imported(store, measured_again) if each.case_id == "bench.time_it")
    assert found.rows[-1].latency is not None
    assert (len(found.rows), found.rows[-1].latency.value) == (5, 0.011)


def test_results_of_asv_have_a_series_for_each_combination(tmp_path: Path) -> None:
    put(tmp_path / "results/lab/dddd-virtualenv-py3.11.json", ASV)
    put(tmp_path / "results/lab/machine.json", {"machine": "lab", "version": 1})
    put(tmp_path / "results/benchmarks.json", {"version": 2})
    store = tmp_path / "store"
    assert main(["history", "import", str(tmp_path / "results"), f"--store={store}"]) == 0
    found = {each.case_id: each for each in loaded(store)}
    assert list(found) == ["bench.Suite.time_plain", "bench.Suite.time_sizes(1, 'a')", "bench.Suite.time_sizes(2, 'b')"]
    (row,) = found["bench.Suite.time_plain"].rows
    assert row.latency == (0.012, 0.011, 0.013)
    assert (row.commit, row.started_at) == ("d" * 40, 1_700_000_000.0), "the time of the commit, not of measuring it"
    assert found["bench.Suite.time_plain"].parts["device"] == "lab"
    with Index(store) as index:
        assert index.facts(row.libraries) == {"numpy": "1.26", "python": "3.11", "environment": "virtualenv-py3.11"}


def of_asv(
    night: int, seconds: float, machine: str = "lab", environment: str = "py3.11", version: str = "v"
) -> dict[str, Any]:
    """Return what asv writes of the commit of a night, which it measured in the opposite order."""
    row = [[seconds], [], version, 1_790_000_000_000 - night]
    return ASV | {
        "commit_hash": f"{night:040d}",
        "date": 1_700_000_000_000 + night * 86_400_000,
        "env_name": environment,
        "params": {"machine": machine},
        "results": {"bench.time_it": row},
    }


def imported(store: Path, *results: dict[str, Any]) -> list[Series]:
    """Import these results and return all series."""
    files = [put(store.parent / f"{number}.json", each) for number, each in enumerate(results)]
    assert main(["history", "import", *map(str, files), f"--store={store}"]) == 0
    return loaded(store)


def test_commits_that_asv_measured_newest_first_are_in_the_order_of_their_dates(tmp_path: Path) -> None:
    """As `asv run v1..main` fills in the past: a regression was shown as an improvement."""
    nights = [of_asv(night, (0.010 if night < 20 else 0.012) * (1 + 0.001 * (night % 3))) for night in range(30)]
    (found,) = imported(tmp_path / "store", *reversed(nights))
    (step,) = found.steps
    assert (step.is_slower, step.step.place) == (True, 20)


def test_results_of_asv_from_before_a_benchmark_was_changed_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As asv leaves them out: else the change of the benchmark is shown as a step."""
    store, before = tmp_path / "store", [of_asv(night, 0.010) for night in range(12)]
    imported(store, *before)
    after = [of_asv(night, 0.020, version="other") for night in range(12, 20)]
    capsys.readouterr()
    (found,) = imported(store, *after, *before)
    assert (len(found.rows), found.steps) == (8, ())
    *_, last = capsys.readouterr().out.splitlines()
    assert last.endswith("/19.json: 0 results of asv, without 1 of an earlier version of its benchmark")
    assert (store / ".gitignore").read_text() == "*\n"


def test_machines_and_environments_that_take_turns_are_series_of_their_own(tmp_path: Path) -> None:
    store = tmp_path / "store"
    (alone,) = imported(store, *(of_asv(night, 0.010) for night in range(4)))
    assert (alone.case_id, alone.parts["device"]) == ("bench.time_it", "lab")
    found = imported(store, *(of_asv(night, 0.020, machine="ci") for night in range(4)))
    assert {each.case_id: each.parts["device"] for each in found} == {
        "bench.time_it (lab)": "lab",
        "bench.time_it (ci)": "ci",
    }
    assert [[row.latency.value for row in each.rows if row.latency] for each in found] == [[0.010] * 4, [0.020] * 4]
    found = imported(store, *(of_asv(night, 0.015, environment="py3.12") for night in range(4)))
    assert [each.case_id for each in found] == [
        "bench.time_it (lab, py3.11)", "bench.time_it (ci, py3.11)", "bench.time_it (lab, py3.12)",
    ]  # fmt: skip
    for pattern, count in (("time_it (ci, py3.11)", 1), ("time_it", 3), ("py3.11", 2)):
        with Index(store) as index:
            assert len(series.load(index, pattern)) == count


def test_an_upgrade_and_a_new_machine_go_on_with_the_series(tmp_path: Path) -> None:
    nights = [benchmark(night, 0.01) for night in range(12)]
    for each in nights[4:]:
        each["machine_info"] = each["machine_info"] | {"python_version": "3.12.1"}
    for each in nights[8:]:
        each["machine_info"] = each["machine_info"] | {"node": "newer"}
    (found,) = imported(tmp_path / "store", *nights)
    assert (found.case_id, len(found.rows)) == ("test_it.py::test_sort[8]", 12)


def test_containers_that_are_named_anew_every_time_are_no_machines(tmp_path: Path) -> None:
    nights = [benchmark(night, 0.01) for night in range(12)]
    for number, each in enumerate(nights):
        each["machine_info"] = each["machine_info"] | {"node": f"fv-az{number % 11}"}
    (found,) = imported(tmp_path / "store", *nights)
    assert len(found.rows) == 12


def test_versions_of_python_that_take_turns_are_series_of_their_own(tmp_path: Path) -> None:
    nights = [benchmark(night, 0.01) for night in range(8)]
    for each in nights[1::2]:
        each["machine_info"] = each["machine_info"] | {"python_version": "3.12.1"}
    found = imported(tmp_path / "store", *nights)
    assert [each.case_id for each in found] == [
        f"test_it.py::test_sort[8] (Python {version})" for version in ("3.11", "3.12")
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "has no results of pytest-benchmark or asv"),
        ("not JSON", "cannot be read as JSON"),
        (json.dumps(ASV | {"version": 1}), "version 1 of asv's format, not 2"),
        (json.dumps(benchmark(0, 0.01) | {"benchmarks": [{}]}), "looks like results of pytest-benchmark, but"),
        (
            json.dumps(benchmark(0, 0.01)).replace('"rounds": 100', '"rounds": 0'),
            "looks like results of pytest-benchmark, but",
        ),
    ],
)
def test_any_other_file_is_a_mistake(
    tmp_path: Path, content: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(content)
    assert main(["history", "import", str(tmp_path / "a.json"), f"--store={tmp_path}"]) == 2
    assert said in capsys.readouterr().err
    assert main(["history", "import", str(tmp_path / "none.json"), f"--store={tmp_path}"]) == 2
    assert "there is no file" in capsys.readouterr().err
