"""Which files a workload is built from, as noted in a separate process."""

from __future__ import annotations

import _ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pytest_ngraph.machine import source_files

SCRIPT = """
import ctypes, functools, json, subprocess, sys
from pytest_ngraph.machine.source_files import FilesRead

files = FilesRead()

@functools.cache
def content(name):
    return open(name).read()

def read(name):
    files.begin(name)
    if name == "module":
        import nets
    elif name.endswith(".so"):
        ctypes.CDLL("./" + name)
    elif name.endswith(".sh"):
        subprocess.run(["./" + name], check=True)
    else:
        content(name)
    return sorted(path.rpartition("/")[2] for path in files.digests())

print(json.dumps([read(name) for name in sys.argv[1:]]))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (folder := tmp_path / "project").mkdir()
    (folder / "a.bin").write_text("a")
    (folder / "b.bin").write_text("b")
    return folder


def files_of(project: Path, *builds: str) -> list[list[str]]:
    """Return the user's own files that each of these builds depends on. Temporary files are nobody's."""
    (temporary := project.parent / "temporary").mkdir()
    command = [sys.executable, "-c", SCRIPT, *builds]
    environment = os.environ | {"TMPDIR": str(temporary)}
    ran = subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True, text=True)
    found: list[list[str]] = json.loads(ran.stdout)
    return found


def test_a_file_counts_for_what_reads_it(project: Path) -> None:
    assert files_of(project, "a.bin", "b.bin") == [["a.bin"], ["b.bin"]]


def test_a_file_counts_also_where_its_content_was_kept_since_it_was_read(project: Path) -> None:
    assert files_of(project, "a.bin", "b.bin", "a.bin") == [["a.bin"], ["b.bin"], ["a.bin"]]


def test_what_a_module_reads_when_it_is_imported_counts_for_all_that_is_built_of_it_later(project: Path) -> None:
    (project / "table.json").write_text("[]")
    (project / "nets.py").write_text("import json\nTABLE = json.load(open('table.json'))\n")
    assert files_of(project, "module", "a.bin") == [["nets.py", "table.json"], ["a.bin", "nets.py", "table.json"]]


def test_a_shared_object_counts_for_all_that_is_built_once_it_is_loaded(project: Path) -> None:
    shutil.copy(_ctypes.__file__, project / "own.so")
    assert files_of(project, "a.bin", "own.so", "a.bin") == [["a.bin"], ["own.so"], ["a.bin", "own.so"]]


def test_a_program_that_is_run_counts(project: Path) -> None:
    (project / "generate.sh").write_text("#!/bin/sh\n")
    (project / "generate.sh").chmod(0o755)
    assert files_of(project, "generate.sh", "a.bin") == [["generate.sh"], ["a.bin"]]


def test_what_is_installed_does_not_count_wherever_that_is(project: Path) -> None:
    (installed := project / "site-packages").mkdir()
    (installed / "rules.json").write_text("[]")
    assert files_of(project, "site-packages/rules.json", "a.bin") == [[], ["a.bin"]]


def test_a_project_may_be_in_the_folder_of_its_virtual_environment(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(project))
    monkeypatch.setattr(tempfile, "tempdir", str(project.parent / "temporary"))
    (project / "bin").mkdir()
    (project / "bin" / "activate").touch()
    monkeypatch.setattr(source_files, "_foreign", source_files._foreign.__wrapped__)  # without its cache
    assert source_files.is_own(str(project / "a.bin"))
    assert not source_files.is_own(str(project / "bin" / "activate"))
