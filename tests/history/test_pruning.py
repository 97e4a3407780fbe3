from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import nights
import pytest

from pytest_ngraph import store
from pytest_ngraph.cli import main
from pytest_ngraph.history import summary
from pytest_ngraph.history.index import Index
from pytest_ngraph.history.pruning import damage, prune
from pytest_ngraph.store import Journal, baselines
from pytest_ngraph.store.outline import path_of

NOW = (nights.FIRST + timedelta(days=4, hours=1)).timestamp()


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    """Return five nights, of which three are older than a day and a half at `NOW`."""
    return nights.write(tmp_path, {nights.CASE: [1.0, 1.01, 1.02, 1.03, 1.04]})


def rows(folder: Path) -> list[tuple[object, ...]]:
    with Index(folder) as index:
        index.update()
        return [(row.case_id, row.run, row.commit, row.anchor, row.latency, row.ratio) for row in index.rows()]


def test_old_runs_are_removed(tmp_path: Path, runs: list[str]) -> None:
    outlines = [path_of(tmp_path / f"{run}.jsonl") for run in runs]
    for each in outlines:
        each.parent.mkdir(exist_ok=True)
        each.touch()
    pruned = prune(tmp_path, 1.5, now=NOW)
    assert pruned.removed == runs[:3]
    assert [each.exists() for each in outlines] == [False] * 3 + [True] * (len(runs) - 3)
    assert store.run_ids(tmp_path) == runs[3:]
    assert pruned.freed_bytes > 0


def test_thinning_forgets_samples_and_keeps_every_figure(tmp_path: Path, runs: list[str]) -> None:
    before = rows(tmp_path)
    pruned = prune(tmp_path, 1.5, thin=True, now=NOW)
    assert pruned.thinned == runs[:3]
    assert store.run_ids(tmp_path) == runs[3:]
    assert rows(tmp_path) == before
    with Index(tmp_path) as index:
        assert [index.record(row) is None for row in index.rows()] == [True] * 3 + [False] * 2


def test_summaries_are_forgotten_after_samples(tmp_path: Path, runs: list[str]) -> None:
    prune(tmp_path, 1.5, thin=True, now=NOW)
    assert prune(tmp_path, 2.5, now=NOW).removed == runs[:2]
    assert [path.stem for path in summary.files(tmp_path)] == runs[2:3]
    assert len(rows(tmp_path)) == 3


def test_a_trial_changes_nothing(tmp_path: Path, runs: list[str]) -> None:
    assert prune(tmp_path, 1.5, thin=True, dry=True, now=NOW).thinned == runs[:3]
    assert store.run_ids(tmp_path) == runs
    assert summary.files(tmp_path) == []


def test_what_baselines_and_sessions_need_is_kept(tmp_path: Path, runs: list[str]) -> None:
    baselines.keep(tmp_path, "release", runs[0])
    path = tmp_path / f"{runs[1]}.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))  # its session has not ended
    journal = Journal.reopen(tmp_path, runs[2])
    pruned = prune(tmp_path, 0, now=NOW)
    journal.close()
    assert pruned.kept == {runs[0]: "a run of baseline release", runs[1]: "not finished", runs[2]: "being measured"}
    assert pruned.removed == runs[3:]


def test_a_healthy_store_has_no_damage(tmp_path: Path, runs: list[str]) -> None:
    baselines.keep(tmp_path, "release", runs[0])
    prune(tmp_path, 2.5, thin=True, now=NOW)
    assert list(damage(tmp_path)) == []
    assert main(["store", "check", f"--store={tmp_path}"]) == 0


def test_damage_is_found_wherever_it_is(tmp_path: Path, runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    baselines.keep(tmp_path, "release", runs[0])
    prune(tmp_path, 2.5, thin=True, now=NOW)
    (thinned,) = summary.files(tmp_path)
    for path in (tmp_path / f"{runs[4]}.jsonl", tmp_path / f"baselines/release/{runs[0]}.jsonl", thinned):
        with path.open("a") as file:
            file.write("{damaged\n")
    assert main(["store", "check", f"--store={tmp_path}"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        f"{runs[4]}: 1 damaged line: line 4: 8 bytes",
        f"baselines/release/{runs[0]}: 1 damaged line: line 4: 8 bytes",
        f"{thinned.relative_to(tmp_path)}: 1 damaged line",
        f"4 runs in {tmp_path}: 3 damaged files",
    ]


def test_the_command_prunes(tmp_path: Path, runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    baselines.keep(tmp_path, "release", runs[0])
    assert main(["store", "prune", "--keep-days=30", "--thin", f"--store={tmp_path}"]) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == "4 runs thinned: samples forgotten, summaries kept"
    assert second == "1 old run kept: a run of baseline release"
    assert third.endswith("MiB freed")
    assert main(["store", "index", f"--store={tmp_path}"]) == 0
    assert capsys.readouterr().out == f"5 records of 5 files in the index of {tmp_path}\n"


def test_merging_takes_summaries_along(tmp_path: Path, runs: list[str]) -> None:
    nights.write(tmp_path / "more", {nights.CASE: [1.0] * 3}, first=20)
    prune(tmp_path / "more", 1.5, thin=True, now=(nights.FIRST + timedelta(days=23)).timestamp())
    main(["merge", str(tmp_path), str(tmp_path / "more"), "-o", str(tmp_path / "all")])
    assert len(rows(tmp_path / "all")) == 8


def test_a_number_of_days_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["store", "prune", "--keep-days=all", f"--store={tmp_path}"])
    assert "'all' is not a number of days from 0 up" in capsys.readouterr().err
