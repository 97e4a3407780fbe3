"""The tutorial works as it stands, with less to measure."""

from __future__ import annotations

from pathlib import Path

import pytest
import tutorial


def test_every_command_of_the_page_ends_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--batch-size=1 --ngraph-budget=0.3 -k 'not torchscript'")
    ran = list(tutorial.run(tutorial.PAGE.read_text(), tmp_path))
    collected, measured, gated, bounded = [each for each in ran if "pytest" in each.command]
    assert "2/3 tests collected" in collected.output
    assert "2 passed" in measured.output
    assert "benchmarks/test_nets.py::test_small[nets:small-identity-b1-cpu] - Failed: regressed" in gated.output
    assert "1 failed, 1 passed" in bounded.output


def test_what_the_page_shows_is_replaced_by_what_was_printed() -> None:
    page = "<!-- output -->\n```text\nold\n```\n```sh\nls\n```\n<!-- output -->\n```text\n```\n"
    ran = [tutorial.Ran("pwd", "one\n", "one\n"), tutorial.Ran("ls", "x", None), tutorial.Ran("id", "two\n", "two\n")]
    assert tutorial.with_outputs(page, ran) == page.replace("old\n", "one\n").replace("text\n```\n", "text\ntwo\n```\n")


def test_a_command_that_ends_otherwise_is_told_with_its_output(tmp_path: Path) -> None:
    with pytest.raises(tutorial.TutorialFails, match="ended with 3, not with 0:\nhello"):
        list(tutorial.run("```sh\necho hello; exit 3\n```\n", tmp_path))


def test_only_the_end_of_an_output_is_shown(tmp_path: Path) -> None:
    page = "```sh\nprintf 'a\\nb  \\nc\\n'; exit 1\n```\n<!-- exit 1 -->\n<!-- output: from \"b\" -->\n```text\n```\n"
    (ran,) = tutorial.run(page, tmp_path)
    assert ran.shown == "b\nc\n"
