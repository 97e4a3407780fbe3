"""Subcommands know the devices, the store and the modules that pytest knows in the same folder."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from synthetic import case, measured

from pytest_ngraph.cli import main
from pytest_ngraph.cli.project import devices_file, import_as_pytest, python_path, store_folder
from pytest_ngraph.errors import UsageError
from pytest_ngraph.plugin import options

INI = "[pytest]\nngraph_devices = devices.toml\n"
OTHER = "[tool.black]\nline-length = 120\n"


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (file := folder / name).parent.mkdir(exist_ok=True)
        file.write_text(text)


@pytest.mark.parametrize(
    "files",
    [
        {"pytest.ini": INI},
        {"tox.ini": f"[tox]\nenv_list = py\n{INI}"},
        {"setup.cfg": INI.replace("[", "[tool:")},
        {"pyproject.toml": "[tool.pytest.ini_options]\nngraph_devices = 'devices.toml'\n"},
        {"pyproject.toml": OTHER, "tox.ini": INI},
        {"pytest.ini": "", "tox.ini": INI},
        {"tox.ini": INI, "here/pyproject.toml": OTHER},
        {"tox.ini": INI, "here/tox.ini": "[pytest]\naddopts = -q\n"},
        {"here/tox.ini": INI},
        {"tox.ini": "[pytest]\naddopts =\n    -q\n    --strict-markers\nngraph_devices = ~/devices.toml\n"},
        {"tox.ini": "[tox]\nenv_list = py\n"},
    ],
    ids=lambda files: " ".join(files),
)
def test_the_file_is_that_which_pytest_reads(
    files: dict[str, str], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(pytester.path))
    here = pytester.mkdir("here")
    _write(pytester.path, files)
    monkeypatch.chdir(here)
    config = pytester.parseconfig("-p", "no:cacheprovider")
    named = str(config.getini("ngraph_devices") or "")
    expected = config.inipath.parent / Path(named).expanduser() if named and config.inipath else None
    assert devices_file(here) == expected


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"pytest.ini": "[pytest]\nngraph_store = runs\n"},
        {"pytest.ini": "[pytest]\nngraph_store = here/runs\n"},
        {"pytest.ini": "[pytest]\nngraph_store = ~/runs\n"},
        {"pytest.ini": "[pytest]\naddopts = -q\n"},
        {"here/tox.ini": "[pytest]\naddopts = -q\n"},
    ],
    ids=lambda files: " ".join(files.values()).replace("\n", " ") or "no ini file",
)
def test_the_store_is_that_which_pytest_writes(
    files: dict[str, str], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(pytester.path))
    here = pytester.mkdir("here")
    _write(pytester.path, files)
    monkeypatch.chdir(here)
    expected = options.read(pytester.parseconfigure("-p", "no:cacheprovider")).store
    found = store_folder(here)
    assert here / found == expected
    assert found.is_absolute() != expected.is_relative_to(here), "a store in the folder is named as from there"


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"pytest.ini": "[pytest]\npythonpath = src 'other code'\n"},
        {"here/tox.ini": "[pytest]\npythonpath =\n    .\n    ../src\n"},
        {"pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['src', 'other code']\n"},
        {"pyproject.toml": "[tool.pytest.ini_options]\npythonpath = 'src'\n"},
        {"tox.ini": "[pytest]\naddopts = -q\n"},
    ],
    ids=lambda files: " ".join(files.values()).replace("\n", " ") or "no ini file",
)
def test_modules_are_found_where_pytest_finds_them(
    files: dict[str, str], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = pytester.mkdir("here")
    _write(pytester.path, files)
    monkeypatch.chdir(here)
    assert python_path(here) == pytester.parseconfig("-p", "no:cacheprovider").getini("pythonpath")
    monkeypatch.setattr(sys, "path", ["elsewhere"])
    import_as_pytest()
    assert sys.path == [*map(str, dict.fromkeys([*python_path(here), here])), "elsewhere"]


def test_the_working_folder_shadows_what_is_installed_and_nothing_of_pythons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script `profile.py` beside the tests is not the standard library's, which PyTorch imports."""
    monkeypatch.chdir(tmp_path)
    installed = tmp_path / "site-packages"
    monkeypatch.setattr(sys, "path", ["scripts", sysconfig.get_path("stdlib"), str(installed)])
    record = measured(case(workload="nets:net"), 0.1, follows_from={"files": {str(tmp_path / "nets.py"): "digest"}})
    import_as_pytest([record])
    assert sys.path == ["scripts", sysconfig.get_path("stdlib"), str(tmp_path), str(installed)]


def test_an_ini_file_that_cannot_be_read_names_no_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--devices` and `--store` stand for what it says of these."""
    _write(tmp_path, {"pyproject.toml": "[tool"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["elsewhere"])
    import_as_pytest()
    assert sys.path == [str(tmp_path), "elsewhere"]


@pytest.mark.parametrize(
    ("module", "files", "expected"),
    [
        ("nets", ["/p/tests/nets.py", "/p/tests/other.py", "/p/nets.txt"], ["/p/tests"]),
        ("nets", ["/p/src/nets/__init__.py", "/p/src/nets/small.py"], ["/p/src"]),
        ("own.nets", ["/p/lib/own/nets.py", "/p/nets.py"], ["/p/lib"]),
        ("nets", ["/p/my_nets.py"], []),
    ],
)
@pytest.mark.parametrize("named_as", ["workload", "compiler", "scored_by"])
def test_modules_of_a_record_are_found_where_they_were_imported_from(
    named_as: str, module: str, files: list[str], expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fields: Any = {"workload": "conv", "compiler": "identity", named_as: f"{module}:this"}
    record = measured(case(**fields), 0.1, follows_from={"files": dict.fromkeys(files, "digest")})
    monkeypatch.setattr(sys, "path", [])
    import_as_pytest([record])
    assert sys.path == [*expected, str(tmp_path)]


def test_subcommands_read_the_store_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path, {"pytest.ini": "[pytest]\nngraph_store = kept\n"})
    monkeypatch.chdir(tmp_path)
    assert main(["runs"]) == 0
    assert "no runs in kept." in capsys.readouterr().out
    assert main(["baseline", "list"]) == 0
    assert "no baselines in kept." in capsys.readouterr().out
    assert main(["report"]) == 2
    assert "kept" in capsys.readouterr().err
    assert main(["runs", "other"]) == 0
    assert "no runs in other." in capsys.readouterr().out


def test_doctor_lists_the_devices_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path, {"pytest.ini": INI, "devices.toml": "[box]\narchitecture = 'sparc'\n", "other.toml": ""})
    monkeypatch.chdir(tmp_path)
    assert main(["doctor"]) == 0
    assert "device box is sparc" in capsys.readouterr().out
    assert main(["doctor", "--devices=other.toml"]) == 0
    assert "sparc" not in capsys.readouterr().out, "the command line replaces the ini file"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"pyproject.toml": "[tool"}, r"cannot read .*pyproject\.toml: .*give --devices"),
        ({"tox.ini": "nothing\n"}, r"cannot read .*tox\.ini: .*give --devices"),
        (
            {"pytest.ini": "[pytest]\nngraph_devices = ~nobody-here/d.toml\n"},
            "no such home folder. Give the whole path",
        ),
    ],
    ids=["toml", "ini", "home"],
)
def test_an_ini_file_that_cannot_be_read_is_one_message(files: dict[str, str], message: str, tmp_path: Path) -> None:
    _write(tmp_path, files)
    with pytest.raises(UsageError, match=message):
        devices_file(tmp_path)
