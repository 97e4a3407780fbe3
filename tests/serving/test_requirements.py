from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from pytest_ngraph.errors import Unsupported
from pytest_ngraph.serving.requirements import _size, elsewhere, install_bytes, requirements


def test_every_line_is_an_installed_version() -> None:
    lines = [line for line in requirements(["numpy", "torch"]).splitlines() if not line.startswith("#")]
    for line in lines:
        requirement = Requirement(line.partition("#")[0])
        assert requirement.specifier.contains(version(requirement.name)), line
        assert re.fullmatch(r"==[^*]+", str(requirement.specifier))


def test_what_is_imported_comes_first_then_what_that_needs() -> None:
    first, _, rest = requirements(["torch", "numpy"]).partition("# what these need:\n")
    assert [line.partition("=")[0] for line in first.splitlines()] == ["numpy", "torch"]
    assert "sympy==" in rest
    assert "numpy==" not in rest


def test_the_version_of_another_index_is_noted_not_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.serving.requirements.version", lambda name: "2.7.1+cpu")
    monkeypatch.setattr("pytest_ngraph.serving.requirements.requires", lambda name: [])
    assert requirements(["torch"]) == "torch==2.7.1  # 2.7.1+cpu was measured, from another package index\n"


def test_a_module_that_no_package_provides_is_one_message() -> None:
    with pytest.raises(Unsupported, match="needs nowhere, which no installed package provides"):
        requirements(["nowhere"])


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A search path with packages of one module each; `needs` needs `alone`, and so does `whole` with its extra."""
    for name, needed, content in (
        ("alone", "", "1"),
        ("needs", "Requires-Dist: alone\n", "1234"),
        ("whole", "Provides-Extra: more\nRequires-Dist: alone; extra == 'more'\n", "12"),
        ("asks", "Requires-Dist: whole[more]\n", "123"),
    ):
        (tmp_path / f"{name}.py").write_text(content)
        (folder := tmp_path / f"{name}-1.0.dist-info").mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needed}")
        (folder / "RECORD").write_text(f"{name}.py,,\n{name}.py,,\ngone.py,,\n")
        (folder / "top_level.txt").write_text(name)
    monkeypatch.syspath_prepend(str(tmp_path))
    _size.cache_clear()
    return tmp_path


def test_the_size_is_that_of_all_installed_files_each_counted_once(packages: Path) -> None:
    assert install_bytes(["alone"]) == 1
    assert install_bytes(["needs"]) == 5
    assert install_bytes(["needs", "alone"]) == 5


def test_what_an_extra_needs_counts_where_the_extra_is_asked_for(packages: Path) -> None:
    assert install_bytes(["whole"]) == 2
    assert install_bytes(["asks"]) == 3 + 2 + 1
    assert "alone==1.0" in requirements(["asks"])
    assert install_bytes(["whole[more,unknown]"]) == 2 + 1
    assert requirements(["whole[more]"]) == "whole==1.0\n# what these need:\nalone==1.0\n"


def test_the_size_of_a_package_without_a_list_of_files_is_unknown(packages: Path) -> None:
    (packages / "alone-1.0.dist-info" / "RECORD").unlink()
    assert install_bytes(["needs"]) is None


def test_folders_where_an_isolated_interpreter_does_not_look_are_named(packages: Path) -> None:
    assert elsewhere(["needs", "numpy"]) == [str(packages.resolve())]
    assert elsewhere(["numpy"]) == []
