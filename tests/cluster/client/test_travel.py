"""What would be sent, in words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_ngraph.cluster.client.travel import left_out, listed_of_base
from pytest_ngraph.cluster.project import pack

ODD = {
    b"new\nline.py": r"new\nline.py",
    b"esc\x1b[2J.py": r"esc\x1b[2J.py",
    b"caf\xe9.py": r"caf\udce9.py",
    "café.py".encode(): "café.py",
}
"""Names of files as bytes, and as they are shown."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    try:
        for name in ODD:
            Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).touch()
    except OSError as error:
        pytest.skip(f"this file system takes no such names: {error}")
    return tmp_path


def test_each_file_has_a_line_whatever_its_name(project: Path) -> None:
    *files, last = listed_of_base("main", project, ())
    assert {line.split(maxsplit=1)[1] for line in files} == set(ODD.values())
    assert last.startswith("the base, main, would be sent to devices: 4 files")
    "\n".join(files).encode()


def test_a_secret_with_any_name_is_named_on_one_line(project: Path) -> None:
    (project / "a\nb.key").touch()
    assert r"secrets: a\nb.key (its name)." in left_out(pack(project))
