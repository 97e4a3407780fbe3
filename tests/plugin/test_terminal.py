"""The end of a run on the terminal."""

from __future__ import annotations

import re
import shlex

import pytest

from pytest_ngraph.cli import main


@pytest.mark.parametrize("store", [".ngraph", "my runs"])
def test_the_command_that_shows_a_run_again_finds_its_store(
    store: str, quick_project: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    result = quick_project.runpytest("--compiler=mine:Exact", f"--ngraph-store={store}")
    printed = re.search(
        r"Stored as (\S+) in (.*); pytest-ngraph (report.*) shows its figures again\.", str(result.stdout)
    )
    assert printed is not None
    run_id, place, command = printed.groups()
    assert place == store
    capsys.readouterr()
    assert main(shlex.split(command)) == 0
    assert f"run {run_id}: 2 records" in capsys.readouterr().out
