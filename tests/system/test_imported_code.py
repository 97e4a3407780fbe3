"""Code that a process imported from elsewhere than it was to."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.imported_code import foreign_modules, refuse_files, refuse_head, refuse_outdated
from pytest_ngraph.system.installed import PACKAGE_FOLDER
from pytest_ngraph.system.relocation import import_path, project_path


def _module(file: Path | None) -> ModuleType:
    module = ModuleType("mine")
    module.__file__ = str(file) if file else None
    return module


def test_foreign_modules(root: Path, worktree: Path) -> None:
    modules = {
        "mine": _module(root / "src" / "mine.py"),
        "mine.nets": _module(root / "src" / "mine" / "nets.py"),
        "base": _module(worktree / "src" / "base.py"),
        "numpy": _module(root / ".venv" / "lib" / "site-packages" / "numpy.py"),
        "namespace": _module(None),
        "json": sys.modules["json"],
        "pytest_ngraph.errors": sys.modules["pytest_ngraph.errors"],
    }
    assert set(foreign_modules(root, worktree, modules)) == {"mine", "mine.nets"}
    with pytest.raises(UsageError, match=r"code of the head: mine and 1 more came from .*mine\.py"):
        refuse_head((worktree, root), modules)


def test_files_of_the_head(root: Path, worktree: Path) -> None:
    """Files that are the same at both sides, those that only one side has, and an environment's make no difference."""
    alike, only_here, changed = (root / name for name in ("alike.txt", "weights.pt", "net.yaml"))
    installed = root / ".venv" / "lib" / "site-packages" / "net.yaml"
    for file in (alike, worktree / "alike.txt", only_here, changed, installed):
        _written(file, "8")
    for file in (worktree / "net.yaml", worktree / installed.relative_to(root)):
        _written(file, "4")
    refuse_files((worktree, root), map(str, (alike, only_here, installed, worktree / "net.yaml", root / "gone.txt")))
    with pytest.raises(UsageError, match=r"a file of the head: net\.yaml was read at .*net\.yaml, so that"):
        refuse_files((worktree, root), [str(changed)])


def test_modules_of_a_worktree_in_the_project_are_its_own(root: Path) -> None:
    modules = {"base": _module(root / "tmp" / "base" / "nets.py")}
    assert not foreign_modules(root, root / "tmp" / "base", modules)
    refuse_head((root / "tmp" / "base", root), modules)


def test_modules_of_pytest_ngraph_are_not_foreign(worktree: Path) -> None:
    assert not foreign_modules(PACKAGE_FOLDER.parents[1], worktree, {"worker": _module(PACKAGE_FOLDER / "worker.py")})


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment with an installed copy of `mine`, and `numpy`."""
    folder = tmp_path / "venv" / "lib" / "site-packages"
    for file in ("mine/__init__.py", "mine/nets.py", "numpy.py"):
        _written(folder / file, "WIDTH = 64")
    return folder


def _written(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _imported(environment: Path) -> dict[str, ModuleType]:
    files = {"mine": "mine/__init__.py", "mine.nets": "mine/nets.py", "numpy": "numpy.py"}
    return {name: _module(environment / file) for name, file in files.items()}


@pytest.mark.parametrize("layout", ["src", "."])
def test_an_installed_copy_must_be_as_the_working_tree(root: Path, environment: Path, layout: str) -> None:
    own = root / layout / "mine" / "nets.py"
    _written(own, "WIDTH = 64")
    refuse_outdated(project_path([], root), _imported(environment))
    _written(own, "WIDTH = 96")
    with pytest.raises(
        UsageError, match=r"mine\.nets was imported from .*site-packages.*, an installed copy that .*nets\.py"
    ):
        refuse_outdated(project_path([], root), _imported(environment))


def test_another_checkout_must_be_as_the_working_tree(root: Path, tmp_path: Path) -> None:
    """An editable install of it, in the one environment of several worktrees."""
    own, other = root / "src" / "nets" / "model.py", tmp_path / "other" / "src" / "nets" / "model.py"
    for file in (own, other):
        _written(file, "DEPTH = 2")
    modules = {"nets.model": _module(other)}
    refuse_outdated(project_path([], root), modules)
    _written(own, "DEPTH = 20")
    with pytest.raises(
        UsageError,
        match=r"nets\.model was imported from .*/other/src/.*, another checkout that differs from .*model\.py",
    ):
        refuse_outdated(project_path([], root), modules)


def test_a_base_is_not_built_with_another_checkout(root: Path, worktree: Path, tmp_path: Path) -> None:
    """A module that adds an absolute path finds the same code at both sides, as the head has it now."""
    other, dependency = tmp_path / "other" / "src" / "nets", tmp_path / "dependency" / "layers.py"
    for folder in (root / "src" / "nets", worktree / "src" / "nets", other):
        _written(folder / "__init__.py", "")
        _written(folder / "model.py", "DEPTH = 2")
    _written(dependency, "WIDTH = 2")
    modules = {"nets": _module(other / "__init__.py"), "layers": _module(dependency)}
    refuse_head((worktree, root), modules | {"nets.model": _module(worktree / "src" / "nets" / "model.py")})
    with pytest.raises(UsageError, match=r"other code than its own: nets\.model came from .*/other/src/.*another"):
        refuse_head((worktree, root), modules | {"nets.model": _module(other / "model.py")})


def test_what_is_imported_from_elsewhere_by_right_is_not_another_checkout(root: Path, tmp_path: Path) -> None:
    """The working tree through a link, its other folders, what only a dependency has, and the standard library."""
    for name in ("nets/__init__.py", "json/__init__.py", "__main__.py"):
        _written(root / "src" / name, "OURS = 1")
    for file in (root / "old" / "nets" / "__init__.py", tmp_path / "dependency" / "layers.py", tmp_path / "run.py"):
        _written(file, "OTHERS = 1")
    (tmp_path / "link").symlink_to(root)
    modules = {
        "nets": _module(tmp_path / "link" / "src" / "nets" / "__init__.py"),
        "layers": _module(tmp_path / "dependency" / "layers.py"),
        "json": sys.modules["json"],
        "__main__": _module(tmp_path / "run.py"),
    }
    refuse_outdated(project_path([], root), modules)
    refuse_outdated(project_path([], root), {"nets": _module(root / "old" / "nets" / "__init__.py")})
    _written(root / "src" / "layers.py", "OURS = 1")
    with pytest.raises(UsageError, match=r"^layers was imported"):
        refuse_outdated(project_path([], root), modules)


def test_data_of_an_installed_package_must_be_as_the_working_tree(root: Path, environment: Path) -> None:
    """A network's configuration, say. What only one of the two has, and caches, make no difference."""
    for file, text in (("nets.py", "WIDTH = 64"), ("conf/net.yaml", "depth: 20"), ("__pycache__/nets.nbi", "ours")):
        _written(root / "src" / "mine" / file, text)
    for file, text in (("__pycache__/nets.nbi", "theirs"), ("conf/other.yaml", "depth: 4")):
        _written(environment / "mine" / file, text)
    imported = _imported(environment)
    refuse_outdated([root / "src", root], imported)
    _written(environment / "mine" / "conf" / "net.yaml", "depth: 2")
    with pytest.raises(UsageError, match=r"mine was imported .*site-packages/mine, .* that differs from .*net\.yaml"):
        refuse_outdated([root / "src", root], imported)


@pytest.mark.parametrize("layout", ["ml/src", "ml"])
def test_a_copy_of_a_project_in_a_repository_of_several_is_refused_at_both_sides(
    root: Path, worktree: Path, environment: Path, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed from an index, so that nothing says what it was made of. The tests are in `ml/benchmarks`."""
    _written(root / "ml" / "pyproject.toml", "")
    _written(root / "ml" / "benchmarks" / "random.py", "")
    _written(root / layout / "mine" / "nets.py", "WIDTH = 96")
    inner = [root / "ml" / "benchmarks"]
    with pytest.raises(UsageError, match=r"mine\.nets was imported from .* that differs from .*/ml/.*nets\.py"):
        refuse_outdated(project_path([], root, inner), _imported(environment))
    path = import_path([str(environment)], root, worktree, inner)
    assert str(worktree / layout) in path[: path.index(str(environment))]
    assert str(worktree / "ml" / "benchmarks") not in path
    monkeypatch.setattr(sys, "path", path)
    with pytest.raises(UsageError, match=r"code of the head: mine came from .*site-packages.*, an installed copy"):
        refuse_head((worktree, root), _imported(environment))


@pytest.mark.parametrize(
    ("url", "info", "is_copy"),
    [
        ("file://{root}", {"dir_info": {}}, True),
        ("file://{root}/dist/mine-1.0.whl", {"archive_info": {}}, True),
        ("file://{root}", {"dir_info": {"editable": True}}, False),
        ("file:///elsewhere", {"dir_info": {}}, False),
        ("https://example.org/mine.git", {"vcs_info": {}}, False),
        ("http://[", {}, False),
    ],
)
def test_a_base_is_not_built_with_what_was_installed_from_the_working_tree(
    root: Path,
    worktree: Path,
    environment: Path,
    url: str,
    info: dict[str, object],
    is_copy: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where its packages are in no folder that is searched first, as with setuptools' `package_dir`."""
    described = environment / "mine-1.0.dist-info"
    _written(described / "METADATA", "Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    _written(described / "RECORD", "mine/__init__.py,,\nmine/nets.py,,\n")
    _written(described / "direct_url.json", json.dumps({"url": url.format(root=root), **info}))
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: [importlib.metadata.PathDistribution(described)])
    if is_copy:
        with pytest.raises(UsageError, match=r"code of the head: mine came from .*site-packages.*, an installed copy"):
            refuse_head((worktree, root), _imported(environment))
    else:
        refuse_head((worktree, root), _imported(environment))
