from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
from other_distributions import Distributed

from pytest_ngraph.cli import main


def test_doctor_names_devices_and_compilers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "orin" in printed
    assert f"identity         installed: torch {version('torch')}" in printed


def test_doctor_says_which_distribution_the_module_onnxruntime_is_from(
    capsys: pytest.CaptureFixture[str], distributed: Distributed
) -> None:
    pytest.importorskip("onnxscript")
    distributed({"onnxruntime-gpu": "1.23.0"})
    main(["doctor"])
    assert "onnxruntime      installed: onnxruntime-gpu 1.23.0\n" in capsys.readouterr().out
    distributed({"onnxruntime": "1.22.0", "onnxruntime-gpu": "1.23.0"})
    main(["doctor"])
    printed = capsys.readouterr().out
    assert "onnxruntime      installed: onnxruntime 1.22.0, onnxruntime-gpu 1.23.0\n" in printed
    assert printed.endswith(
        "onnxruntime and onnxruntime-gpu have written the module onnxruntime over each other: pip uninstall -y "
        'onnxruntime onnxruntime-gpu, then pip install "pytest-ngraph[onnxruntime-gpu]"\n'
    )


def test_doctor_knows_devices_of_the_users_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "devices.toml").write_text("[box]\narchitecture = 'sparc'\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["doctor", "--devices=~/devices.toml"]) == 0
    assert "device box is sparc, but this machine is" in capsys.readouterr().out


def test_an_unknown_option_is_not_taken_for_another(capsys: pytest.CaptureFixture[str]) -> None:
    """argparse reads `--device` as `--devices`, and looked for a file `gpu`."""
    with pytest.raises(SystemExit):
        main(["doctor", "--device=gpu"])
    printed = capsys.readouterr().err
    assert "usage: pytest-ngraph doctor" in printed
    assert "unrecognized arguments: --device=gpu. Did you mean --devices?" in printed
