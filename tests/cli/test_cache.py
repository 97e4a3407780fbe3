from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from pytest_ngraph.cli import main
from pytest_ngraph.worker.cache import Cache
from pytest_ngraph.worker.cold_start import ColdStart


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cache of two artifacts; the one of batch size 2 was used last."""
    compiled = tmp_path / "compiled"
    compiled.mkdir()
    (compiled / "weights").write_bytes(bytes(2**20))
    kept = Cache(tmp_path / "cache")
    for batch_size in (1, 2):
        inputs = {"workload": "resnet18", "batch_size": batch_size, "compiler": "tvm"}
        kept.keep(inputs, compiled, ColdStart(2.0, 12.5, 2))
        used = [entry for entry in kept.entries() if entry.inputs == inputs]
        os.utime(used[0].folder, (batch_size, batch_size))
    return tmp_path / "cache"


def test_artifacts_are_listed_the_last_used_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "list", "--folder", str(folder)]) == 0
    latest, earliest, total = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d +1\.0 MiB +14\.5 s  resnet18 b2 tvm", latest)
    assert earliest.endswith("resnet18 b1 tvm")
    assert total == f"2 artifacts, 2.0 MiB in {folder}"


def test_it_is_cleared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "clear", "--folder", str(folder)]) == 0
    assert capsys.readouterr().out == f"removed 2 compiled artifacts from {folder}\n"
    assert Cache(folder).entries() == []


def test_a_folder_that_is_not_trusted_is_named_with_the_command_that_repairs_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.chmod(0o777)
    assert main(["cache", "list", "--folder", str(folder)]) == 2
    message = capsys.readouterr().err
    assert "or others can write to it, so it is not used" in message
    command = shlex.split(re.search(r"\((chmod .*)\)", message).group(1))  # type: ignore[union-attr]
    assert command == ["chmod", "go-w", str(folder)]
    folder.chmod(0o755)
    assert main(["cache", "list", "--folder", str(folder)]) == 0
