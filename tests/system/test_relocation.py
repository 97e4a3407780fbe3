from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest
from synthetic import case

from pytest_ngraph.system.relocation import (
    STANDARD_LIBRARY,
    completed,
    import_path,
    moved,
    sent_path,
    with_paths,
)

HERE, THERE = Path("/home/somebody/project"), Path("/var/copy")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/somebody/project/a/net.onnx", "/var/copy/a/net.onnx"),
        ("/home/somebody/project", "/var/copy"),
        ("/home/somebody/project/a/../net.onnx", "/var/copy/a/../net.onnx"),
        ("/home/somebody/other/../project/net.onnx", "/var/copy/net.onnx"),
        ("/home/somebody/project/../net.onnx", "/home/somebody/project/../net.onnx"),
        ("/home/somebody/project/test_it.py::test[a/b]", "/var/copy/test_it.py::test[a/b]"),
        ("/home/somebody/project-2/net.onnx", "/home/somebody/project-2/net.onnx"),
        ("a/net.onnx", "a/net.onnx"),
        ("package.module:function", "package.module:function"),
    ],
)
def test_paths_in_the_folder_are_moved_and_nothing_else(text: str, expected: str) -> None:
    assert moved(text, HERE, THERE) == expected


def test_each_of_several_paths_in_an_argument_is_moved() -> None:
    libraries = (("custom_ops", f"{HERE}/a.so:{HERE}/b.so:c.so:/opt/d.so"),)
    found = with_paths(case(model_args=libraries), lambda text: moved(text, HERE, THERE))
    assert found.model_args == (("custom_ops", f"{THERE}/a.so:{THERE}/b.so:c.so:/opt/d.so"),)


def test_a_link_is_the_same_link_in_the_copy(tmp_path: Path) -> None:
    """It is a link to another version there. So is a folder, and a link that leads out of either."""
    project = tmp_path / "project"
    (project / "nets").mkdir(parents=True)
    (project / "latest.onnx").symlink_to("nets/v1.onnx")
    (project / "models").symlink_to("nets")
    (project / "large.onnx").symlink_to("/mnt/large.onnx")
    for name in ("latest.onnx", "models/v1.onnx", "large.onnx"):
        assert moved(str(project / name), project, THERE) == str(THERE / name)
        assert moved(str(THERE / name), THERE, project) == str(project / name)


def test_a_link_from_elsewhere_leads_into_the_folder(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "nets").mkdir(parents=True)
    (project / "nets" / "latest.onnx").symlink_to("v1.onnx")
    for link, to in (("to project", project), ("to nets", project / "nets")):
        (tmp_path / link).symlink_to(to)
    for name in ("to project/nets/latest.onnx", "to nets/latest.onnx"):
        assert moved(str(tmp_path / name), project, THERE) == f"{THERE}/nets/latest.onnx"


def test_every_text_of_a_case_may_be_a_path() -> None:
    weights = (("layers", 3), ("weights", f"{HERE}/weights.pt"))
    found = with_paths(case(workload=f"{HERE}/net.onnx", model_args=weights), lambda text: moved(text, HERE, THERE))
    assert found == case(workload=f"{THERE}/net.onnx", model_args=(("layers", 3), ("weights", f"{THERE}/weights.pt")))


def _texts(*paths: Path) -> list[str]:
    return list(map(str, paths))


STANDARD = Path(sysconfig.get_path("stdlib")).resolve()


def test_the_project_moves_and_comes_before_what_is_installed(root: Path, worktree: Path) -> None:
    """An editable install's `.pth` file puts the source folder at the end, and pytest a test's folder at the start.

    What comes after the standard library comes after it there, too: a user's `profile.py` would shadow that library's.
    """
    path = _texts(root / "tests", STANDARD, Path("/elsewhere/lib"), root / "python")
    expected = (worktree / "tests", STANDARD, worktree / "python", worktree / "src", worktree, Path("/elsewhere/lib"))
    assert import_path(path, root, worktree) == _texts(*expected)


def test_the_standard_library_of_another_interpreter(root: Path) -> None:
    """It is where that of this one is, and the rest of its own path comes last."""
    path = _texts(root / "tests", STANDARD, STANDARD / "lib-dynload", root / "python", Path("/elsewhere/lib"))
    own = sent_path(path, root)
    assert own == [*_texts(root / "tests"), STANDARD_LIBRARY, *_texts(root / "python", root / "src", root)]
    there = ["/other", str(STANDARD), "/other/site-packages"]
    expected = (root / "tests", STANDARD, root / "python", root / "src", root)
    assert completed(own, there) == [*_texts(*expected), "/other", "/other/site-packages"]
    assert completed(["/first"], there) == ["/first", *there]


def test_the_empty_entry_is_the_current_folder(root: Path, worktree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "sub").mkdir(parents=True)
    monkeypatch.chdir(root / "sub")
    assert import_path([""], root, worktree)[0] == str(worktree / "sub")


def test_an_entry_by_a_link_moves(root: Path, worktree: Path, tmp_path: Path) -> None:
    (root / "lib").mkdir(parents=True)
    (tmp_path / "link").symlink_to(root)
    assert import_path([str(tmp_path / "link" / "lib")], root, worktree)[0] == str(worktree / "lib")


def test_an_environment_in_the_project_stays(root: Path, worktree: Path) -> None:
    installed = root / ".venv" / "lib" / "python3" / "site-packages"
    unusual = root / "env" / "modules"
    unusual.mkdir(parents=True)
    (root / "env" / "pyvenv.cfg").touch()
    path = _texts(installed, unusual, root)
    assert import_path(path, root, worktree) == _texts(worktree, worktree / "src", installed, unusual)


def test_pytest_ngraph_itself_stays(root: Path, worktree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its own repository, the base is measured with the head's pytest-ngraph."""
    home = root / "src"
    monkeypatch.setattr("pytest_ngraph.system.relocation.PACKAGE_FOLDER", home / "pytest_ngraph")
    assert import_path(_texts(root, home), root, worktree) == _texts(worktree, home)


def test_the_folders_of_setuptools_finders(root: Path, worktree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finder = ModuleType("__editable___mine_1_0_finder")
    finder.__dict__["MAPPING"] = {"mine": str(root / "lib" / "mine"), "other": "/elsewhere/other"}
    monkeypatch.setitem(sys.modules, finder.__name__, finder)
    assert import_path(["/elsewhere"], root, worktree) == [
        *_texts(worktree / "lib", worktree / "src", worktree),
        "/elsewhere",
    ]


EDITABLE = """
import importlib.machinery, importlib.util, json, site, sys
from pathlib import Path
from pytest_ngraph.system.installed import PACKAGE_FOLDER
from pytest_ngraph.system.imported_code import foreign_modules
from pytest_ngraph.system.relocation import import_path

root, worktree = map(Path, sys.argv[1:])
site.addsitedir(str(root / ".venv/lib/site-packages"))


class Finder:  # as setuptools appends them
    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.util.spec_from_file_location(name, root / "src" / f"{name}.py")


sys.meta_path.append(Finder)
sys.path[:] = import_path(sys.path, root, worktree)
import by_finder, by_pth, installed
assert not foreign_modules(root, worktree, sys.modules)
print(json.dumps([module.__file__ for module in (by_pth, by_finder, installed)]))
import only_at_head
assert list(foreign_modules(root, worktree, sys.modules)) == ["only_at_head"]
"""


def test_editable_installs_in_an_environment_of_the_project(root: Path, worktree: Path) -> None:
    """A real interpreter takes the worktree's modules, whichever way the project is installed."""
    environment = root / ".venv" / "lib" / "site-packages"
    for folder in (root / "src", root / "python", worktree / "src", worktree / "python", environment):
        folder.mkdir(parents=True)
    for home in (root, worktree):
        (home / "src" / "by_finder.py").touch()
        (home / "python" / "by_pth.py").touch()
    (root / "src" / "only_at_head.py").touch()
    (environment / "installed.py").touch()
    (environment / "mine.pth").write_text(f"{root / 'python'}\n")
    ran = subprocess.run([sys.executable, "-c", EDITABLE, root, worktree], check=True, capture_output=True, text=True)
    expected = (worktree / "python" / "by_pth.py", worktree / "src" / "by_finder.py", environment / "installed.py")
    assert json.loads(ran.stdout) == _texts(*expected)
