"""What a compiler's results depend on besides the model."""

from __future__ import annotations

from importlib import invalidate_caches
from pathlib import Path

import pytest

from pytest_ngraph.machine import compiler_code


def install(folder: Path, version: str) -> None:
    """Install this version of a library of one module."""
    (folder / "inlined.py").touch()
    information = folder / "inlined_library.dist-info"
    information.mkdir(exist_ok=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: inlined-library\nVersion: {version}\n")
    (information / "top_level.txt").write_text("inlined\n")


def test_a_library_that_only_this_compiler_has_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_compiler.py").write_text(
        "class Own:\n"
        "    libraries, kinds = ('inlined.part', 'torch'), ('cpu',)\n"
        "    def compile(self, artifact, target, folder): ...\n"
        "    def load(self, artifact, target, folder): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    digests = []
    for version in ("1.0", "1.0", "2.0"):
        install(tmp_path, version)
        invalidate_caches()
        compiler_code.versions.cache_clear()
        digests.append(compiler_code.source_digest("own_compiler:Own"))
    assert digests[0] == digests[1] != digests[2]


def test_the_modules_beside_it_in_its_package_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (package := tmp_path / "packed_compiler").mkdir()
    (package / "__init__.py").touch()
    (package / "own.py").write_text(
        "class Own:\n"
        "    libraries, kinds = (), ('cpu',)\n"
        "    def compile(self, artifact, target, folder): ...\n"
        "    def load(self, artifact, target, folder): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    before = compiler_code.source_digest("packed_compiler.own:Own")
    (package / "lowering.py").write_text("PASSES = 2")
    compiler_code._code.cache_clear()
    assert compiler_code.source_digest("packed_compiler.own:Own") != before


def test_no_distribution_is_asked_about_for_a_built_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking reads files of every installed distribution, in every process that compiles."""
    monkeypatch.setattr(compiler_code, "providers", lambda name: pytest.fail("asked"))
    assert compiler_code.source_digest("torchscript")
