"""This machine as the host that measures."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine import compiler_code, machine, source_files
from pytest_ngraph.machine.host import THIS_MACHINE


def test_it_is_named_as_users_see_it() -> None:
    assert THIS_MACHINE.place == "this machine"


def test_it_runs_the_python_of_this_process() -> None:
    assert THIS_MACHINE.python == platform.python_version()


def test_it_is_the_machine_of_this_process() -> None:
    assert THIS_MACHINE.machine == machine.this_machine()


def test_its_environment_has_the_machine_the_libraries_and_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_MAX_AUTOTUNE", "1")
    environment = THIS_MACHINE.environment
    assert environment == machine.environment()
    assert environment["fingerprint"] == THIS_MACHINE.machine.fingerprint
    assert environment.items() >= THIS_MACHINE.libraries.items() | THIS_MACHINE.variables.items()


def test_its_libraries_are_the_installed_ones() -> None:
    assert THIS_MACHINE.libraries["torch"] == version("torch")
    assert "no-such-library" not in THIS_MACHINE.libraries


def test_its_variables_are_those_that_configure_compilers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_MAX_AUTOTUNE", "1")
    monkeypatch.setenv("EDITOR", "ed")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # the same for every worker, whatever the user has set
    assert THIS_MACHINE.variables["TORCHINDUCTOR_MAX_AUTOTUNE"] == "1"
    assert not {"EDITOR", "OMP_NUM_THREADS"} & THIS_MACHINE.variables.keys()
    monkeypatch.delenv("TORCHINDUCTOR_MAX_AUTOTUNE")
    assert "TORCHINDUCTOR_MAX_AUTOTUNE" not in THIS_MACHINE.variables


def test_a_module_is_found_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "explosive_module.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert THIS_MACHINE.is_importable("explosive_module")
    assert not THIS_MACHINE.is_importable("no_such_module")


def test_a_compiler_whose_library_is_not_installed_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lacking_compiler.py").write_text(
        "class Lacking:\n"
        "    libraries, kinds = ('no_such_library',), ('cpu',)\n"
        "    def compile(self, artifact, target, folder): ...\n"
        "    def load(self, artifact, target, folder): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert THIS_MACHINE.missing_library("identity") == ""
    missing = THIS_MACHINE.missing_library("lacking_compiler:Lacking")
    assert "no_such_library, which is not installed: pip install no_such_library" in missing


def test_an_unknown_compiler_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"unknown compiler 'opnvino'.*'openvino'"):
        THIS_MACHINE.missing_library("opnvino")


def test_the_digest_of_a_compiler_is_that_of_its_code() -> None:
    assert THIS_MACHINE.source_digest("identity") == compiler_code.source_digest("identity") != ""


def test_the_digest_of_a_file_follows_its_content_and_is_empty_without_one(tmp_path: Path) -> None:
    weights, gone = str(tmp_path / "weights.bin"), str(tmp_path / "gone.bin")
    Path(weights).write_bytes(b"1")
    before = THIS_MACHINE.digests([weights, gone])
    assert before == {weights: source_files.file_digest(weights), gone: ""}
    Path(weights).write_bytes(b"22")
    after = THIS_MACHINE.digests([weights, gone])
    assert after[weights] not in ("", before[weights])
