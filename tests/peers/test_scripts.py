"""Each script of the comparison, on the smallest possible input."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from comparing import page, parity, starts
from fault_project import Project

DOCS = Path(__file__).parents[2] / "docs" / "comparison.md"
SCRIPTS = ("harness", "truth", "answer", "gating", "scale")
MARKS = re.compile(r"<!-- ([\w ]+): measured -->\n(.*?)<!-- end -->", re.DOTALL)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the page, into which the scripts write."""
    path = tmp_path / "comparison.md"
    path.write_text(DOCS.read_text())
    monkeypatch.setattr(page, "PAGE", path)
    return path


def run(script: str, *arguments: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [script, *arguments, "--write"])
        importlib.import_module(script).main()


def section(path: Path, name: str) -> str:
    found: dict[str, str] = dict(MARKS.findall(path.read_text()))
    return found[name]


def test_the_page_has_a_place_for_every_table() -> None:
    parts = [part for script in SCRIPTS for part in importlib.import_module(script).PARTS if part != "parity"]
    objectives = [f"parity {objective}" for objective in parity.COMPILERS]
    assert sorted(dict(MARKS.findall(DOCS.read_text()))) == sorted([*parts, *objectives])


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_starts_by_its_path_alone(script: str, tmp_path: Path) -> None:
    path = DOCS.parents[1] / "benchmarks" / "peers" / f"{script}.py"
    assert "--write" in subprocess.check_output([sys.executable, str(path), "--help"], cwd=tmp_path, text=True)


@pytest.mark.slow
def test_a_sweep_has_a_row_cold_and_one_warm(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(tmp_path)
    path = [str(project.root), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    monkeypatch.setenv("TMPDIR", str(project.temporary))
    sizes = ("--compilers=mine:Exact", "--batch-sizes=1")
    run("harness", "--parts=sweep", f"--tests={project.root / 'test_it.py'}", *sizes)
    assert re.findall(r"^\| (cold|warm) \| 1 \| 1 \|", section(written, "sweep"), re.MULTILINE) == ["cold", "warm"]


def test_collecting_is_timed_with_and_without_plugins(tmp_path: Path) -> None:
    folders = {arm: tmp_path / arm for arm in starts.ARMS}
    for arm, folder in folders.items():
        folder.mkdir()
        (folder / "test_case.py").write_text(starts.COLLECTED[arm].format(widths=1))
    found = starts.timed(folders, ("--collect-only", "-qq"), rounds=1)
    assert {arm: own.shape for arm, own in found.items()} == dict.fromkeys(starts.ARMS, (1,))
    assert starts.imported(folders["pytest-ngraph"], "--collect-only", "-qq") == "none"


@pytest.mark.slow
def test_ours_is_compared_with_the_librarys_own_timer(written: Path, network: str) -> None:
    sizes = ("--compilers=torchscript", "--batch-sizes=1", "--pairs=1", "--pair-seconds=0.05")
    run("truth", "--parts=parity", f"--models={network}", *sizes)
    found = section(written, "parity latency")
    assert "| `torchscript` | torch.utils.benchmark | mine:network | 1 |" in found


def test_the_spread_of_two_sessions(forked_programs: None, written: Path, network: str) -> None:
    sizes = ("--arms=torch.utils", "--sessions=2", "--spread-seconds=0.05")
    run("truth", "--parts=spread", f"--models={network}", *sizes)
    assert "| mine:network-b1-cpu |" in section(written, "spread")


def test_a_rule_is_compared_with_the_truth(forked_programs: None, written: Path, network: str) -> None:
    run("answer", f"--models={network}", "--arms=study", "--trials=1", "--truth-seconds=0.05")
    assert "| mine:network-b1-cpu | the study, 100 repetitions |" in section(written, "answer")


@pytest.mark.slow
def test_a_pull_request_is_gated_by_each_tool(written: Path) -> None:
    run("gating", "--networks=2", "--changed=1")
    found = section(written, "pull request")
    assert re.findall(r"^\| ([\w-]+) \| \d+ \| (\d of 2) \|", found, re.MULTILINE) == [
        ("pytest-ngraph", "1 of 2"), ("asv", "2 of 2"),
    ]  # fmt: skip


@pytest.mark.slow
def test_sessions_of_more_and_more_cases(written: Path) -> None:
    run("scale", "--parts=cases", "--cases=1,2")
    assert re.findall(r"^\| (\d) \|", section(written, "cases"), re.MULTILINE) == ["1", "2"]


def test_works_on_more_and_more_records(written: Path) -> None:
    run("scale", "--parts=records", "--records=30,60", "--rounds=6", "--works=gate,resume")
    assert re.findall(r"^\| (\w+) \| [\d.]+ s, \d+ MiB \|", section(written, "records"), re.MULTILINE) == [
        "gate", "resume",
    ]  # fmt: skip
