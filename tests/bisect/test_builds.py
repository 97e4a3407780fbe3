"""What a bisection builds and measures: no more than its answers need."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from repository import Repository

from pytest_ngraph.bisect.child import Request, run
from pytest_ngraph.cli import main

LOGGED = '''

export_it = Plain.export


def export(self, case, folder):
    """Write down which commit is built: each has another README."""
    with open(os.environ["BUILDS"], "a") as builds:
        builds.write((NUMBERS.parent / "README").read_text() + "\\n")
    return export_it(self, case, folder)


Plain.export = export
'''


@pytest.fixture
def builds(weighed: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that gets a line for each build. After `v1` come a commit as fast, a slower one, and one as slow."""
    log = tmp_path / "builds"
    monkeypatch.setenv("BUILDS", str(log))
    with (weighed.root / "faulty.py").open("a") as family:
        family.write(LOGGED)
    for subject, numbers in (("good", "100"), ("as fast", "100"), ("slower", "130"), ("as slow", "130")):
        weighed.write("README", subject)
        weighed.write("plain_a.txt", numbers)
        commit = weighed.commit(subject)
        if subject == "good":
            weighed.git("tag", "v1", commit)
    return log


def test_a_head_is_built_once_and_one_that_equals_a_known_commit_needs_no_base(
    builds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bisect", "v1", "--case=plain_a", "--json", "--", "test_it.py"]) == 0
    printed, steps = capsys.readouterr()
    found = json.loads(printed)
    (culprit,) = found["culprits"]
    assert found["commits"][culprit["commit"]]["subject"] == "slower"
    assert found["measured"] == 2, "the ends are compared, and the accused commit with its parent"
    built = Counter(builds.read_text().splitlines())
    assert built.total() == found["steps"] + found["measured"], "a head for each step, a base where there was measuring"
    assert built["good"] == 1
    assert steps.count("1 as before, without measuring") == steps.count("as before") > 0


def test_what_a_killed_session_has_left_answers_nothing(tmp_path: Path) -> None:
    """The process that is asked again may fail before it writes anything."""
    stale = [tmp_path / f"01{suffix}" for suffix in (".jsonl", ".md", ".json")]
    for file in stale:
        file.write_text('{"case": "a", "own": "a"}\n')
    request = Request(path=None, arguments=(), file=str(stale[0]), cases=None)
    ran = run("false", request, tmp_path, stale[1], tmp_path / "01.txt", {"PATH": "/usr/bin:/bin"})
    assert (ran.status, dict(ran.lines), dict(ran.result)) == (1, {}, {})
