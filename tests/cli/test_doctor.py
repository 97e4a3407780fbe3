from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph.cli import main


def test_doctor_names_devices_and_compilers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "orin" in printed
    assert "identity         installed" in printed


def test_doctor_knows_devices_of_the_users_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "devices.toml").write_text("[box]\narchitecture = 'sparc'\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["doctor", "--devices=~/devices.toml"]) == 0
    assert "device box is sparc, but this machine is" in capsys.readouterr().out
