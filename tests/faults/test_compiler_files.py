"""What a compiler of one's own has read is part of what it compiled: once a file of it changed, it compiles again."""

from __future__ import annotations

import _ctypes
import shutil
from pathlib import Path

import pytest
from fault_project import Project

OWN = """
import ctypes
import json
from pathlib import Path

import helper
from own.passes import fuse
from mine import Exact

PLACE = Path(__file__).parents[1]
LIBRARY = ctypes.CDLL(str(PLACE / "libown.so"))


class Own(Exact):
    def compile(self, artifact, target, folder):
        from own import late

        json.loads((PLACE / "rules.json").read_text())
        super().compile(artifact, target, folder)
        if helper.BROKEN:
            raise ValueError("the helper is broken")
"""
READ = ("helper.py", "own/passes/fuse.py", "own/late.py", "rules.json", "libown.so")


@pytest.fixture
def own(tmp_path: Path, pytester: pytest.Pytester, light_workers: None) -> Project:
    """A project with a compiler in a package: of it a helper, a subpackage, a table and a shared object."""
    project = Project(tmp_path / "own", compilers=["own.compiler:Own"])
    project.here = pytester
    (project.root / "own" / "passes").mkdir(parents=True)
    for name in ("own/__init__.py", "own/passes/__init__.py", "own/passes/fuse.py", "own/late.py"):
        (project.root / name).touch()
    (project.root / "own" / "compiler.py").write_text(OWN)
    (project.root / "helper.py").write_text("BROKEN = False\n")
    (project.root / "rules.json").write_text("[]")
    shutil.copy(_ctypes.__file__, project.root / "libown.so")
    return project


def change(path: Path) -> None:
    """Append a space or a comment, which leaves Python, JSON and a shared object as good as they were."""
    with path.open("ab") as file:
        file.write(b" \n")


def was_cached(project: Project) -> bool:
    """Measure the only case in a new run, and return whether what was compiled before was used."""
    status, printed = project.run("--ngraph-cache=cache")
    assert status == 0, printed
    (record,) = project.records.values()
    return record.cached_at is not None


def test_what_was_compiled_stands_until_a_file_that_the_compiler_read_changes(own: Project) -> None:
    assert [was_cached(own), was_cached(own)] == [False, True]
    for name in READ:
        change(own.root / name)
        assert not was_cached(own), name
    assert was_cached(own)


def test_a_resumed_run_measures_again_when_such_files_changed(own: Project) -> None:
    assert own.run()[0] == 0
    for name in READ:
        change(own.root / name)
    _, printed = own.run(f"--ngraph-resume={own.run_ids[-1]}")
    assert "1 case measured again: " in printed
    assert all(f"{Path(name).name} changed" in printed for name in READ)


def test_a_failure_depends_on_what_was_read_until_then(own: Project) -> None:
    (own.root / "helper.py").write_text("BROKEN = True\n")
    status, printed = own.run()
    assert status == pytest.ExitCode.TESTS_FAILED, printed
    (own.root / "helper.py").write_text("BROKEN = False\n")
    status, printed = own.run(f"--ngraph-resume={own.run_ids[-1]}")
    assert status == 0, printed
    assert "1 case measured again: helper.py changed" in printed
