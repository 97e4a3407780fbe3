"""The code that serves a library of TVM's, with a library that only notes what it is asked for."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import served

from pytest_ngraph.artifact import Target
from pytest_ngraph.compilers.serving.tvm import deploy


@pytest.mark.parametrize("lists_cores", [True, False], ids=["linux", "macos"])
def test_threads_may_use_all_cores_of_the_process(
    lists_cores: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lists_cores:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5, 3}, raising=False)
    else:
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
        monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setenv("TVM_NUM_THREADS", "1")  # `load` sets it
    (library := tmp_path / "model.so").touch()
    (folder := tmp_path / "served").mkdir()
    tvm = MagicMock()
    served.imported(folder, deploy(Target(kind="cpu"), library, folder), tvm=tvm).load()
    configured = tvm.get_global_func.return_value.call_args.args
    assert configured == (-3, 2, ["3", "5"] if lists_cores else ["0", "1"])
