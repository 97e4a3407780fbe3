"""A page is followed: its files are written, its commands run."""

from __future__ import annotations

from pathlib import Path

import follow
import pytest


def test_outputs_on_the_page_are_replaced_by_new_ones() -> None:
    other = "```text\nof another run\n```\n"
    page = f"<!-- output -->\n```text\nold\n```\n{other}```sh\nls\n```\n<!-- output -->\n```text\n```\n"
    ran = [follow.Ran("pwd", "one\n", "one\n"), follow.Ran("ls", "x", None), follow.Ran("id", "two\n", "two\n")]
    assert follow.with_outputs(page, ran) == page.replace("old\n", "one\n").replace("text\n```\n", "text\ntwo\n```\n")


def test_an_unexpected_exit_status_is_reported_with_the_output(tmp_path: Path) -> None:
    with pytest.raises(follow.PageFails, match="ended with 3, not with 0:\nhello"):
        list(follow.run("```sh\necho hello; exit 3\n```\n", tmp_path))


def test_only_the_end_of_an_output_is_shown(tmp_path: Path) -> None:
    page = "```sh\nprintf 'a\\nb  \\nc\\n'; exit 1\n```\n<!-- exit 1 -->\n<!-- output: from \"b\" -->\n```text\n```\n"
    (ran,) = follow.run(page, tmp_path)
    assert ran.shown == "b\nc\n"


def test_files_are_written_except_those_left_out(tmp_path: Path) -> None:
    files = "```python\n# a/b.py\nB = 1\n```\n<!-- not followed -->\n```toml\n[c]\n```\n"
    (ran,) = follow.run(f"{files}```sh\ncat a/b.py\n```\n<!-- output -->\n```text\n```\n", tmp_path)
    assert ran.shown == "B = 1\n"


def test_a_block_that_names_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(follow.PageFails, match="a block of toml does not begin with the name of its file"):
        list(follow.run("```toml\n[c]\n```\n", tmp_path))
