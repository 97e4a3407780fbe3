"""What a compiler can no longer run, or could not run at the base, as users of the gate see it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from repository import Repository

PICKY = ("--compiler=lacking:Picky", "--batch-size=4", "--ngraph-against=main", "--ngraph-summary=gate.md")
FITS, BIG, NEGATIVE, ELSEWHERE = "1 2 3", "1 2 9", "-1 2 3", "elsewhere"


@pytest.fixture
def changed(quick_project: pytest.Pytester) -> Repository:
    """A repository whose workload is changed by writing `numbers.txt`."""
    made = Repository.create(quick_project.path)
    made.write(".gitignore", ".ngraph\n__pycache__\n*.xml\ngate.*\n")
    return made


def verdict_in(report: Path) -> str:
    """Return the verdict that JUnit's report has for the only test."""
    (found,) = [each.get("value") for each in ElementTree.parse(report).iter("property")]
    return found or ""


def test_a_head_that_loses_a_compiler_fails_its_test(quick_project: pytest.Pytester, changed: Repository) -> None:
    """Also when the run is resumed, and its record is taken over."""
    changed.write("numbers.txt", FITS)
    changed.commit("every operator is known")
    changed.write("numbers.txt", BIG)
    result = quick_project.runpytest(*PICKY, "--junitxml=out.xml")
    result.assert_outcomes(failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*lost: picky cannot convert the operator Big; main at * runs it",
            "Against main at *: 1 lost",
            "*lost * plain-lacking:Picky-b4-cpu*",
        ]
    )
    assert verdict_in(changed.root / "out.xml") == "lost"
    page = (changed.root / "gate.md").read_text()
    assert page.startswith("**1 of 1 case lost, none regressed against main at ")
    assert "### Lost" in page
    data = json.loads((changed.root / "gate.json").read_text())
    assert data["counts"] == {"lost": 1}
    assert data["verdicts"][0]["reason"].startswith("picky cannot convert the operator Big; main at ")
    result = quick_project.runpytest(*PICKY, f"--ngraph-resume={data['run']}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["1 case of run * taken over from an earlier session."])


@pytest.mark.parametrize(("base", "verdict"), [(FITS, "lost"), (BIG, None), (ELSEWHERE, None)])
def test_a_head_that_cannot_be_built_here_is_lost_where_the_base_runs(
    quick_project: pytest.Pytester, changed: Repository, base: str, verdict: str | None
) -> None:
    changed.write("numbers.txt", base)
    changed.commit("before")
    changed.write("numbers.txt", ELSEWHERE)
    result = quick_project.runpytest(*PICKY)
    result.assert_outcomes(**{"failed" if verdict else "skipped": 1})
    data = json.loads((changed.root / "gate.json").read_text())
    assert [each["name"] for each in data["verdicts"]] == [verdict] * bool(verdict)


@pytest.fixture
def richer(tmp_path: Path) -> Path:
    """The interpreter of an environment that differs in one library, and also has `no_such_library`."""
    (packages := tmp_path / "packages").mkdir()
    (packages / "no_such_library.py").touch()
    (information := packages / "executorch-0.0.1.dist-info").mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: executorch\nVersion: 0.0.1\n")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return python


def test_a_library_that_only_the_base_has_is_lost(quick_project: pytest.Pytester, richer: Path) -> None:
    result = quick_project.runpytest(
        "--compiler=mine:Absent", "--batch-size=4", f"--ngraph-against-python={richer}", "--ngraph-summary=gate.md"
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*lost: mine:Absent needs no_such_library, which is not installed: * runs it"])
    data = json.loads((quick_project.path / "gate.json").read_text())
    assert data["counts"] == {"lost": 1}


def test_a_library_that_neither_has_is_skipped(quick_project: pytest.Pytester, richer: Path) -> None:
    (richer.parent / "packages" / "no_such_library.py").unlink()
    result = quick_project.runpytest("--compiler=mine:Absent", "--batch-size=4", f"--ngraph-against-python={richer}")
    result.assert_outcomes(skipped=1)
    assert result.ret == 0


def test_a_base_that_cannot_be_built_here_is_new(quick_project: pytest.Pytester, changed: Repository) -> None:
    changed.write("numbers.txt", ELSEWHERE)
    changed.commit("before")
    changed.write("numbers.txt", FITS)
    result = quick_project.runpytest(*PICKY)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*new: main at * cannot run it: its library is not installed here*"])


@pytest.mark.parametrize(("base", "head"), [(BIG, "1 2 8"), (BIG, NEGATIVE)])
def test_what_neither_can_run_is_not_lost(
    quick_project: pytest.Pytester, changed: Repository, base: str, head: str
) -> None:
    """For the same reason or for another."""
    changed.write("numbers.txt", base)
    changed.commit("an operator is missing")
    changed.write("numbers.txt", head)
    result = quick_project.runpytest(*PICKY)
    result.assert_outcomes(skipped=1)
    assert result.ret == 0
    assert json.loads((changed.root / "gate.json").read_text())["verdicts"] == []


def test_what_only_the_base_cannot_run_is_new(quick_project: pytest.Pytester, changed: Repository) -> None:
    """It is neither broken nor left open by noise."""
    changed.write("numbers.txt", BIG)
    changed.commit("an operator is missing")
    changed.write("numbers.txt", FITS)
    result = quick_project.runpytest(*PICKY, "--ngraph-inconclusive=fail")
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*new: main at * cannot run it: picky cannot convert the operator Big"])
