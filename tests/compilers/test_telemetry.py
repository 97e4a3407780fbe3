"""No compiler sends anything home from where it is timed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.process import WorkerProcess
from pytest_ngraph.case import Case


@pytest.mark.parametrize("compiler", ["onnxruntime", "openvino"])
def test_a_compiler_keeps_no_identity_of_the_user(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both write one into the home folder before they send anything."""
    if missing := compilers.missing_library(compiler):
        pytest.skip(missing)
    (home := tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(home))
    for variable in ("XDG_CACHE_HOME", "CI", "TF_BUILD", "JENKINS_URL"):  # under CI both are silent by themselves
        monkeypatch.delenv(variable, raising=False)
    case = Case(workload="conv", compiler=compiler, batch_size=1, depth=1, width=16)
    worker = WorkerProcess(cores=(0,), temporary=tmp_path)
    try:
        artifact = worker.request("export", timeout_s=120, case=case.group.to_dict(), folder=str(tmp_path))
        worker.request(
            "prepare",
            timeout_s=300,
            case=case.to_dict(),
            artifact=artifact,
            target=Target().to_dict(),
            warmup_s=0.1,
            round_s=0.01,
        )
    finally:
        worker.close()
    assert list(home.rglob("*")) == []
