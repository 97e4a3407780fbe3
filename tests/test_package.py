"""The built packages: wheel and sdist."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePath

import pytest

ROOT = Path(__file__).parents[1]
BUILD = "from hatchling import build; print(build.build_{kind}({folder!r}))"


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def _build(kind: str, source: Path, folder: Path) -> Path:
    """Build with the backend, as `python -m build` does, but without an environment of its own."""
    pytest.importorskip("hatchling")
    code = BUILD.format(kind=kind, folder=str(folder))
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


def _files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _information(wheel: Path) -> str:
    name, version, *_ = wheel.name.split("-")
    return f"{name}-{version}.dist-info"


def test_the_wheel_has_the_package_its_types_and_its_licence_and_nothing_else(wheel: Path) -> None:
    files, information = _files(wheel), _information(wheel)
    assert {PurePath(name).parts[0] for name in files} == {"pytest_ngraph", information}
    assert "pytest_ngraph/py.typed" in files
    assert files[f"{information}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    written = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*") if path.is_file()}
    packaged = {name for name in files if name.startswith("pytest_ngraph/")}
    assert packaged == {name for name in written if "__pycache__" not in name}


def test_the_wheel_registers_plugin_command_compilers_and_workloads(wheel: Path) -> None:
    entry_points = _files(wheel)[f"{_information(wheel)}/entry_points.txt"].decode()
    for line in ("[pytest11]\nngraph = pytest_ngraph.plugin", "pytest-ngraph = pytest_ngraph.cli:main"):
        assert line in entry_points
    assert "openvino = pytest_ngraph.compilers.openvino:OpenVino" in entry_points
    assert "timm = pytest_ngraph.workloads.timm:Timm" in entry_points


def test_the_sdist_has_what_a_packager_needs_and_makes_the_same_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(sdist, tmp_path)
    (source,) = tmp_path.iterdir()
    there = {path.name for path in source.iterdir()}
    assert {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "pyproject.toml"} <= there
    assert {"benchmarks", "conftest.py", "docs", "src", "tests", "tools"} <= there
    (out := tmp_path / "out").mkdir()
    assert _files(_build("wheel", source, out)) == _files(wheel)
