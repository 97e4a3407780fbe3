from __future__ import annotations

import socket
from pathlib import Path

import pytest

from pytest_ngraph.cli import main


def test_certificates_are_made_for_every_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["cluster", "certs", str(tmp_path), "--for", "head", "orin", "--role", "measure"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [Path(line).name for line in printed[2:]] == ["head.pem", "head-key.pem", "orin.pem", "orin-key.pem"]
    assert all(Path(line).is_file() for line in printed)


def test_the_default_is_a_certificate_for_this_machine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["cluster", "certs", str(tmp_path), "--role", "head", "submit"]) == 0
    assert f"{socket.gethostname()}.pem" in capsys.readouterr().out


def test_a_passphrase_is_asked_for_and_a_certificate_is_revoked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NGRAPH_CA_PASSPHRASE", "open sesame")
    certs = ["cluster", "certs", str(tmp_path), "--for", "orin", "--role", "measure"]
    assert main([*certs, "--passphrase"]) == 0
    assert main(certs) == 0
    assert main(["cluster", "revoke", str(tmp_path), "orin"]) == 0
    *_, first, second, path = capsys.readouterr().out.splitlines()
    assert path.endswith("crl.pem")
    assert first.startswith("orin: serial ")
    assert second.startswith("orin: serial ")
    monkeypatch.setenv("NGRAPH_CA_PASSPHRASE", "shut")
    assert main(["cluster", "revoke", str(tmp_path), "orin"]) == 2
    assert "Is the passphrase right?" in capsys.readouterr().err
    monkeypatch.delenv("NGRAPH_CA_PASSPHRASE")
    answers = iter(["one", "other", ""])
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(answers))
    for problem in ("the two passphrases differ", "an empty passphrase protects nothing"):
        assert main(["cluster", "certs", str(tmp_path / "new"), "--role", "head", "--passphrase"]) == 2
        assert problem in capsys.readouterr().err


def test_a_scheduler_beyond_this_machine_needs_certificates(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "scheduler", "--address=0.0.0.0"]) == 2
    assert "pytest-ngraph cluster certs makes certificates" in capsys.readouterr().err


def test_a_port_in_use_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        assert main(["cluster", "scheduler", f"--address={address}", "--insecure"]) == 2
    assert f"cannot listen on {address}" in capsys.readouterr().err
