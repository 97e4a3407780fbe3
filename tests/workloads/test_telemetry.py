"""Compilers send no telemetry."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled import working
from forking import TorchServer


@pytest.mark.parametrize("compiler", ["onnxruntime", "openvino"])
def test_a_compiler_keeps_no_identity_of_the_user(
    compiler: str, torch_server: TorchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both write an identity into the home folder before they send anything."""
    (home := tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(home))
    # Under CI both send nothing. The tests themselves are run with the last of these.
    for variable in ("XDG_CACHE_HOME", "CI", "TF_BUILD", "JENKINS_URL", "ORT_DISABLE_TELEMETRY"):
        monkeypatch.delenv(variable, raising=False)
    with working(compiler, tmp_path, server=torch_server):
        pass
    assert list(home.rglob("*")) == []
