"""What changed since an earlier session is measured again, and the run says why."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_project import Project

from pytest_ngraph import store


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project of four cases, two of which an earlier session measured. Each test has a copy."""
    folder = tmp_path_factory.mktemp("measured")
    project = Project(folder, workloads=["plain1", "plain2"], compilers=["mine:Exact", "mine:Exact:spin=1"])
    (project.root / "numbers.txt").write_text("1 2 3")
    assert project.run("-k", "plain1")[0] == 0
    path = project.store / f"{project.run_ids[-1]}{store.SUFFIX}"
    path.write_text(path.read_text().replace('"ended":"whole"', '"ended":"cut short"'))
    return project


@pytest.fixture
def half(measured: Project, tmp_path: Path, pytester: pytest.Pytester, light_workers: None) -> Project:
    made = measured.copied(tmp_path / "half")
    made.here = pytester
    return made


@pytest.fixture
def whole(half: Project) -> Project:
    """Return it with those two cases only."""
    half.write_tests(["plain1"], [1], ["mine:Exact", "mine:Exact:spin=1"])
    return half


def test_nothing_changed_and_then_there_is_nothing_to_go_on_with(half: Project) -> None:
    before = half.records
    printed = half.assert_resumes(kept=before.values())
    assert f"2 cases of run {half.run_ids[-1]} taken over from an earlier session." in printed
    assert "measured again" not in printed
    status, printed = half.run("--ngraph-resume")
    assert status == 0
    assert "nothing to resume: every run" in printed
    assert len(half.run_ids) == 2


def test_the_samples_of_before_are_replayed_although_a_limit_that_nobody_ran_into_changed(half: Project) -> None:
    half.assert_resumes("--ngraph-timeout=77", "--benchmark-json=out.json", kept=half.records.values())
    text = (half.root / "out.json").read_text()
    for record in half.records.values():
        assert str(record.samples.tolist()[0]) in text


def test_what_was_recorded_before_is_held_to_thresholds(half: Project) -> None:
    status, printed = half.run("--ngraph-resume", "-k", "plain1", "--ngraph-fail-on=throughput<1e12")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "2 failed" in printed


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("numbers.txt", "4 5 6", "2 cases measured again: numbers.txt changed."),
        ("faulty.py", "# another line", "2 cases measured again: faulty.py changed."),
        (
            "mine.py",
            "# another line",
            "2 cases measured again: the compiler's own code or libraries changed; mine.py changed.",
        ),
    ],
)
def test_a_file_that_it_was_built_from_changed(whole: Project, file: str, text: str, reason: str) -> None:
    before = whole.records
    path = whole.root / file
    path.write_text(text if file.endswith("txt") else f"{path.read_text()}\n{text}\n")
    printed = whole.assert_measures_again()
    assert reason in printed
    assert all(whole.records[case] != record for case, record in before.items())


def test_a_setting_changed(whole: Project) -> None:
    printed = whole.assert_measures_again("--ngraph-budget=0.02")
    assert "2 cases measured again: settings: budget_s 0.01 -> 0.02." in printed


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ('"numpy":"', "libraries: numpy 0."),
        ('"machine":"', "machine: 0."),
    ],
)
def test_the_libraries_or_the_machine_changed(whole: Project, before: str, reason: str) -> None:
    path = whole.store / f"{whole.run_ids[-1]}{store.SUFFIX}"
    path.write_text(path.read_text().replace(before, f"{before}0."))
    assert reason in whole.assert_measures_again()


def test_a_group_that_is_in_part_there_says_so(half: Project) -> None:
    path = half.store / f"{half.run_ids[-1]}{store.SUFFIX}"
    lines = [line for line in path.read_text().splitlines() if not ('"outcome"' in line and "spin=1" in line[:99])]
    path.write_text("\n".join(lines) + "\n")
    (kept,) = half.records.values()
    printed = half.assert_resumes(kept=[kept])
    assert "Measured in several sessions" in printed
    assert "plain1-b1-cpu" in printed
    assert len({record.measured_in for record in half.records.values() if record.case.workload == "plain1"}) == 2
    assert kept.measured_in == kept.run


def test_a_run_that_does_not_exist(half: Project) -> None:
    status, printed = half.run("--ngraph-resume", "test_it.py")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert f"unknown run 'test_it.py'. Known: {half.run_ids[0]}. --ngraph-resume takes the next word" in printed


def test_a_run_that_measures_nothing_does_not_mention_unfinished_runs(half: Project) -> None:
    status, printed = half.run("--ngraph-resume", "--collect-only")
    assert status == 0
    assert "nothing to resume" not in printed
