"""`pytest-ngraph device` without a cluster. Tests that need one are in tests/cluster."""

from __future__ import annotations

import dataclasses
import getpass
import os
import sys
from pathlib import Path

import pytest
from cluster.devices import ORIN

from pytest_ngraph.cli import device, main


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody else uses this machine, and its certificates are made for this test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("pytest_ngraph.cluster.own_certificates.others", list)


def test_a_unit_is_printed_with_absolute_paths(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["device", "start", "--name=orin-1", "--device=orin", "--scheduler=localhost", f"--folder={tmp_path}"]
    assert main([*command, "--insecure", "--print-unit"]) == 0
    printed = capsys.readouterr().out
    start = f"ExecStart={sys.executable} -m pytest_ngraph.cli device start --scheduler=tcp://localhost:8786"
    assert f"{start} --folder={tmp_path} --name=orin-1 --device=orin --insecure\n" in printed


def test_a_unit_has_the_places_of_caches_and_may_write_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {"XDG_CACHE_HOME": f"{tmp_path}/cache", "HF_HOME": "hf", "TORCH_HOME": ""}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    command = ["device", "start", "--name=orin", "--scheduler=localhost", f"--folder={tmp_path}/device"]
    assert main([*command, "--print-unit"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("Environment=")] == [
        f"Environment=XDG_CACHE_HOME={tmp_path}/cache",
        f"Environment=XDG_STATE_HOME={tmp_path}/state",
        f"Environment=HF_HOME={tmp_path}/hf",
    ]
    (writable,) = [line for line in lines if line.startswith("ReadWritePaths=")]
    assert writable.endswith(f"-{tmp_path}/device -{tmp_path}/cache -{tmp_path}/hf")
    assert (tmp_path / "cache" / "pytest-ngraph").is_dir()
    assert (tmp_path / "hf").is_dir()


def test_a_unit_of_a_user_without_a_name_has_the_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As in some containers."""

    def unknown() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr(getpass, "getuser", unknown)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    command = ["device", "start", "--name=orin", "--scheduler=localhost", f"--folder={tmp_path}", "--insecure"]
    assert main([*command, "--print-unit"]) == 0
    assert "\nUser=12345\n" in capsys.readouterr().out


def test_what_is_listed_of_a_device() -> None:
    """The last word of the first line is the fingerprint, by which results can be compared."""
    lacking = 'tvm needs tvm, which is not installed: pip install "pytest-ngraph[tvm]"'
    orin = dataclasses.replace(ORIN, state="refuses", compilers={"identity": "", "tvm": lacking})
    first, machine, *others = device._lines(orin)
    assert first.split() == ["orin-1", "of", "orin", "refuses", orin.address, ORIN.environment["fingerprint"]]
    assert ORIN.environment["architecture"] in machine
    assert f"python {ORIN.environment['python']}" in others[-3]
    assert others[-2:] == ["  compilers: identity", f"    {lacking}"]


def test_plain_text_beyond_this_machine_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "start", "--name=orin", "--scheduler=10.0.0.7"]) == 2
    assert "whoever reaches it can run code as you" in capsys.readouterr().err


def test_a_device_of_a_cluster_on_this_machine_listens_here_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "start", "--name=orin", "--scheduler=tcp://localhost", "--host=0.0.0.0"]) == 2
    assert "--host=0.0.0.0 is not encrypted and does not check who connects" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "-x", "a/b", "a b"])
def test_an_invalid_name_is_refused(capsys: pytest.CaptureFixture[str], name: str) -> None:
    with pytest.raises(SystemExit):
        main(["device", "start", f"--name={name}", "--scheduler=localhost"])
    assert "is not a name" in capsys.readouterr().err


def test_a_cluster_that_is_not_there_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "list", "--scheduler=127.0.0.1:1"]) == 2
    assert capsys.readouterr().err == (
        "pytest-ngraph: nothing listens at tls://127.0.0.1:1. "
        "Start the scheduler there: pytest-ngraph cluster scheduler.\n"
    )


def test_libraries_that_are_missing_are_named_with_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ngraph.cluster.NEEDED", ("no_such_library",))
    assert main(["device", "list", "--scheduler=localhost"]) == 2
    assert 'pip install "pytest-ngraph[cluster]"' in capsys.readouterr().err
