from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from judged import result, verdicts

from pytest_ngraph.errors import UsageError
from pytest_ngraph.report.destinations import Destinations
from pytest_ngraph.report.pull_request import page


def test_markdown_data_and_step_summary(tmp_path: Path) -> None:
    step = tmp_path / "step"
    step.write_text("before\n")
    to = Destinations(file=tmp_path / "gate.md", step_summary=step)
    to.check()
    assert list(tmp_path.iterdir()) == [step], "checking leaves nothing"
    run = result(*verdicts())
    assert to.write(run) == []
    assert (tmp_path / "gate.md").read_text() == page(run)
    assert json.loads((tmp_path / "gate.json").read_text()) == run.to_dict()
    assert step.read_text() == f"before\n{page(run)}"


def test_a_commit_whose_subject_is_not_utf_8_is_in_all_files(tmp_path: Path) -> None:
    """As `git log` gives it: the byte is kept as half of a pair of surrogates."""
    run = dataclasses.replace(result(*verdicts()), commits=["abc \udce9t\udce9"])
    to = Destinations(file=tmp_path / "gate.md", step_summary=tmp_path / "step")
    assert to.write(run) == []
    for file in ("gate.md", "step"):
        assert "abc ?t?" in (tmp_path / file).read_text()
    assert json.loads((tmp_path / "gate.json").read_text()) == run.to_dict()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none/gate.md", r"--ngraph-summary=\S+none/gate.md: cannot write \S+gate.md: No such file or directory. Give"),
        ("folder", r"cannot write \S+folder: Is a directory"),
        ("gate.json", r"gate.json: this file is for the data, .* Give the file of the Markdown: \S+gate.md"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_before(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=message):
        Destinations(file=tmp_path / name).check()


def test_what_cannot_be_written_at_the_end_keeps_nothing_else_from_it(tmp_path: Path) -> None:
    (tmp_path / "gate.md").mkdir()
    problems = Destinations(file=tmp_path / "gate.md", step_summary=tmp_path / "none" / "step").write(result())
    assert len(problems) == 2
    assert problems[0].startswith(f"The summary could not be written to {tmp_path / 'gate.md'}: Is a directory")
    assert (tmp_path / "gate.json").exists()
