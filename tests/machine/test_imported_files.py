"""Which of the user's modules a module imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys
from pytest_ngraph.machine.imported_files import imported_files
for path in sorted(imported_files(sys.argv[1])):
    print(os.path.relpath(path))
print("imported", *sorted({"nets", "blocks", "package"} & set(sys.modules)))
"""
FILES = {
    "nets.py": "import json, blocks\nfrom package import inner\n",
    "blocks.py": "def block():\n    from late import width\n    return width\n",
    "late.py": "import nets\nwidth = 3\n",
    "package/__init__.py": "import torch\n",
    "package/inner.py": "from . import sibling\nfrom .deep.down import name\n",
    "package/sibling.py": "import not.there\n",
    "package/deep/down.py": "name = 1\n",
    "package/unused.py": "",
    "folder/plain.py": "import blocks\n",
    "broken.py": "import blocks\ndef (",
    "elsewhere.py": "",
    "site-packages/library.py": "import elsewhere",
    "uses.py": "import library",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "temporary").mkdir()
    for name, text in FILES.items():
        (file := tmp_path / "project" / name).parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "project"


def imported(project: Path, module: str) -> list[str]:
    """Return what a process prints that asks for the files of a module. Temporary files are nobody's."""
    path = os.pathsep.join([str(project), str(project / "site-packages")])
    environment = os.environ | {"TMPDIR": str(project.parent / "temporary"), "PYTHONPATH": path}
    command = [sys.executable, "-c", SCRIPT, module]
    ran = subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True, text=True)
    return ran.stdout.splitlines()


@pytest.mark.parametrize(
    ("module", "files"),
    [
        (
            "nets",
            "blocks.py late.py nets.py package/__init__.py package/deep/down.py package/inner.py package/sibling.py",
        ),
        ("package.sibling", "package/__init__.py package/sibling.py"),
        (
            "folder.plain",
            "blocks.py folder/plain.py late.py nets.py "
            "package/__init__.py package/deep/down.py package/inner.py package/sibling.py",
        ),
        ("broken", "broken.py"),
        ("uses", "uses.py"),
        ("torch", ""),
        ("not_there.at_all", ""),
    ],
)
def test_files_are_those_that_the_source_imports_however_late(project: Path, module: str, files: str) -> None:
    *found, loaded = imported(project, module)
    assert found == files.split()
    assert loaded == "imported", "no module was imported to find out"


def test_the_packages_around_a_module_are_imported_with_it(project: Path) -> None:
    assert imported(project, "package.deep.down")[:-1] == ["package/__init__.py", "package/deep/down.py"]


MAY_DEFINE = """
import sys
from pytest_ngraph.machine.imported_files import may_define
print(*(int(may_define(module, "build")) for module in sys.argv[1:]))
"""
SOURCES = {
    "plain": ("def build(): ...", True),
    "nested": ("class Nets:\n    def build(self): ...", True),
    "assigned": ("from functools import partial\nbuild = partial(print)", True),
    "tried": ("try:\n    from fast import build\nexcept ImportError:\n    def build(): ...", True),
    "computed": ("for name in ('build',):\n    globals()[name] = print", True),
    "late": ("def __getattr__(name): ...", True),
    "set": ("import sys\nsys.modules[__name__].build = print", True),
    "damaged": ("def (", True),
    "other": ("def rebuild():\n    return build()", False),
    "again": ("from models.nets import build", False),
    "starred": ("from models.nets import *", False),
    "empty": ("", False),
}


def test_a_module_defines_what_its_source_does_not_import(project: Path) -> None:
    """A workload that was moved may leave its old module behind, often with an import of it."""
    for name, (text, _) in SOURCES.items():
        (project / f"{name}.py").write_text(text)
    environment = os.environ | {"TMPDIR": str(project.parent / "temporary")}
    command = [sys.executable, "-c", MAY_DEFINE, *SOURCES, "nowhere", "json"]
    ran = subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True, text=True)
    expected = [*(defined for _, defined in SOURCES.values()), False, True]
    assert ran.stdout.split() == [str(int(each)) for each in expected]
