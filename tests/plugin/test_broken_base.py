"""A base that cannot be collected, built or run, as users of the gate see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from repository import Repository

from pytest_ngraph.store import run_ids

EXACT = ("--compiler=mine:Exact", "--batch-size=4", "--ngraph-against=main", "--ngraph-summary=gate.md")
WARN = "--ngraph-broken-base=warn"


@pytest.fixture
def changed(quick_project: pytest.Pytester) -> Repository:
    """A repository whose workload is changed by writing `numbers.txt`."""
    made = Repository.create(quick_project.path)
    made.write(".gitignore", ".ngraph\n__pycache__\ngate.*\n")
    return made


@pytest.fixture
def unbuildable(changed: Repository) -> Repository:
    """The same. At the base, the workload cannot be built."""
    changed.write("numbers.txt", "one two three")
    changed.commit("not a number")
    changed.write("numbers.txt", "1 2 3")
    return changed


@pytest.mark.parametrize("policy", ["warn", "pass"])
def test_a_base_that_cannot_be_built_fails_its_test(
    quick_project: pytest.Pytester, unbuildable: Repository, policy: str
) -> None:
    """Whatever happens to what noise left undecided."""
    result = quick_project.runpytest(*EXACT, f"--ngraph-inconclusive={policy}")
    result.assert_outcomes(failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["inconclusive: the base cannot be built: *'one'*--ngraph-broken-base=warn."])
    page = (unbuildable.root / "gate.md").read_text()
    assert page.startswith("**Nothing was compared with main at ")
    assert "1 not compared, because the base is broken**" in page.splitlines()[0]
    assert json.loads((unbuildable.root / "gate.json").read_text())["verdicts"][0]["broken"] is True


def test_it_may_be_accepted(quick_project: pytest.Pytester, unbuildable: Repository) -> None:
    """Also where what noise leaves undecided is not."""
    result = quick_project.runpytest(*EXACT, WARN, "--ngraph-inconclusive=fail")
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*PytestWarning: inconclusive: the base cannot be built: *'one'*"])


@pytest.mark.parametrize("options", [("-W", "error"), ("--override-ini=filterwarnings=error",)])
def test_a_warning_about_a_verdict_fails_nothing(
    quick_project: pytest.Pytester, unbuildable: Repository, options: tuple[str, ...]
) -> None:
    """Also where the project's own warnings are errors."""
    result = quick_project.runpytest(*EXACT, WARN, *options)
    result.assert_outcomes(passed=1, warnings=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*PytestWarning: inconclusive: the base cannot be built: *'one'*"])


def test_a_base_that_cannot_be_run_fails_its_test(quick_project: pytest.Pytester, changed: Repository) -> None:
    """Its outputs are wrong, or it crashes: `lacking:AbortsOn9` does on a workload of the base only."""
    changed.write("numbers.txt", "1 2 9")
    changed.commit("crashes")
    changed.write("numbers.txt", "1 2 3")
    result = quick_project.runpytest(*EXACT, "--compiler=lacking:AbortsOn9", "-k", "AbortsOn9")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["inconclusive: the base does not run: crashed in *--ngraph-broken-base=warn."])


@pytest.mark.parametrize(("options", "status"), [((), 1), ((WARN,), 0)])
def test_a_base_whose_tests_cannot_be_collected_fails_the_run(
    quick_project: pytest.Pytester, changed: Repository, options: tuple[str, ...], status: int
) -> None:
    """Its cases are built at the base all the same, and their verdicts are their own."""
    test = Path(quick_project.path, "test_it.py")
    good = test.read_text()
    test.write_text(f"import module_that_is_missing\n{good}")
    changed.commit("cannot be imported")
    test.write_text(good)
    result = quick_project.runpytest(*EXACT, *options)
    result.assert_outcomes(passed=1)
    assert result.ret == status
    said = [line for line in result.outlines if "--ngraph-broken-base=warn" in line]
    assert len(said) == status
    assert all("main at " in line and "No module named 'module_that_is_missing'" in line for line in said)
    problems = json.loads((changed.root / "gate.json").read_text())["problems"]
    assert problems == said


def test_a_file_that_has_nothing_of_the_head_may_be_broken(quick_project: pytest.Pytester, changed: Repository) -> None:
    changed.write("test_other.py", "import module_that_is_missing\n")
    changed.commit("cannot be imported")
    (changed.root / "test_other.py").unlink()
    result = quick_project.runpytest(*EXACT)
    result.assert_outcomes(passed=1)
    assert result.ret == 0


def test_a_file_that_git_ignores_is_named_and_can_be_given_to_the_base(
    quick_project: pytest.Pytester, changed: Repository
) -> None:
    changed.write(".gitignore", ".ngraph\n__pycache__\ngate.*\nweights.txt\n")
    changed.write("numbers.txt", "weights.txt")
    changed.commit("weights are not tracked")
    changed.write("weights.txt", "1 2 3")
    without = quick_project.runpytest(*EXACT)
    without.assert_outcomes(failed=1)
    without.stdout.fnmatch_lines(
        ["inconclusive: the base cannot be built: *. weights.txt is in the *: --ngraph-untracked=weights.txt.*"]
    )
    result = quick_project.runpytest(*EXACT, "--ngraph-untracked=weights.txt")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Against main at *: 1 unchanged"])


@pytest.mark.parametrize("imported", ["import sizes._C", "from sizes import _C"])
def test_a_module_that_git_ignores_is_named_where_tests_cannot_be_collected(
    quick_project: pytest.Pytester, changed: Repository, imported: str
) -> None:
    """Such as a version that setuptools_scm writes, or an extension that is built in place."""
    changed.write(".gitignore", ".ngraph\n__pycache__\ngate.*\n_C.py\n")
    changed.write("sizes/__init__.py", "")
    test = Path(quick_project.path, "test_it.py")
    test.write_text(f"{imported}\n{test.read_text()}")
    changed.commit("a generated module")
    changed.write("sizes/_C.py", "")
    without = quick_project.runpytest(*EXACT)
    assert without.ret == pytest.ExitCode.TESTS_FAILED
    without.stdout.fnmatch_lines(["main at *. sizes/_C.py is in the working tree, *: --ngraph-untracked=sizes/_C.py.*"])
    result = quick_project.runpytest(*EXACT, "--ngraph-untracked=sizes/_C.py")
    result.assert_outcomes(passed=1)
    assert result.ret == 0


def test_a_run_that_goes_on_does_what_its_message_said(quick_project: pytest.Pytester, changed: Repository) -> None:
    """The base that could not be built is another one once it has the file."""
    changed.write(".gitignore", ".ngraph\n__pycache__\nweights.txt\n")
    changed.write("numbers.txt", "weights.txt")
    changed.commit("weights are not tracked")
    changed.write("weights.txt", "1 2 3")
    quick_project.runpytest(*EXACT, "-x").assert_outcomes(failed=1)
    (run,) = run_ids(changed.root / ".ngraph")
    result = quick_project.runpytest(*EXACT, f"--ngraph-resume={run}", "--ngraph-untracked=weights.txt")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 case measured again: against: main at * -> main at *, with weights.txt."])


def test_a_pattern_that_matches_no_file_ends_the_run(quick_project: pytest.Pytester, changed: Repository) -> None:
    changed.commit("as it is")
    result = quick_project.runpytest(*EXACT, "--ngraph-untracked=*.pt")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --ngraph-untracked=*.pt matches no file in {changed.root}. Give a file*"])
