"""Which subcommands there are, and that each imports only what it needs itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ngraph import cli
from pytest_ngraph.cli import SUBCOMMANDS, main

IMPORTED = """
import sys
from pytest_ngraph.cli import main
main(sys.argv[1:])
print(*sys.modules, sep="\\n", file=sys.stderr)
"""


def imported_by(folder: Path, *arguments: str) -> set[str]:
    """Return the modules that a process has imported that ran the command with these arguments in a folder."""
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTED, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(ran.stderr.split())


def test_a_subcommand_imports_no_other(tmp_path: Path) -> None:
    imported = imported_by(tmp_path, "cache", "list", "--folder=cache")
    others = {f"pytest_ngraph.cli.{name}" for name in SUBCOMMANDS if name != "cache"}
    assert "pytest_ngraph.cli.cache" in imported
    assert not imported & others


def test_help_lists_every_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    listed = [
        line.split()[0]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith(4 * " ") and line[4:5] != " "
    ]
    assert listed == list(SUBCOMMANDS)


def test_a_word_that_is_none_is_answered_with_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["reprot"])
    error = capsys.readouterr().err
    assert all(name in error for name in SUBCOMMANDS)


def test_each_has_a_file() -> None:
    folder = Path(cli.__path__[0])
    assert {path.stem for path in folder.glob("*.py") if "\ndef declare(commands: Any)" in path.read_text()} == set(
        SUBCOMMANDS
    )
