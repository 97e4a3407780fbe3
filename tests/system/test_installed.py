from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph.system.installed import is_importable, variables


@pytest.mark.parametrize(
    ("module", "expected"),
    [("json", True), ("json.decoder", True), ("no_such", False), ("no_such.part", False), ("", False)],
)
def test_a_module_is_found_without_importing_it(module: str, expected: bool) -> None:
    assert is_importable(module) is expected


@pytest.mark.parametrize(("file", "expected"), [("net.onnx", False), ("version.py", True), ("exir/__init__.py", True)])
def test_a_folder_of_a_librarys_name_is_one_if_there_is_python_in_it(
    file: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "like_executorch" / file
    inside.parent.mkdir(parents=True)
    inside.touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert is_importable("like_executorch") is expected


def test_variables_are_those_that_configure_compilers_but_not_our_workers() -> None:
    given = {"TORCHINDUCTOR_MAX_AUTOTUNE": "1", "CXX": "clang++", "TVM_NUM_THREADS": "2", "HOME": "/root"}
    given |= {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
    assert variables(given) == {"CXX": "clang++", "OMP_WAIT_POLICY": "passive", "TORCHINDUCTOR_MAX_AUTOTUNE": "1"}
