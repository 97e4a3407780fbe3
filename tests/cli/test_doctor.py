from __future__ import annotations

import pytest

from pytest_ngraph.cli import main


def test_doctor_names_devices_and_compilers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "orin" in printed
    assert "identity         installed" in printed
