from __future__ import annotations

from pathlib import Path

import pytest
from compiled import CPU, Export, Load

from pytest_ngraph.case import Case
from pytest_ngraph.compilers.torchscript import FILE, TorchScript
from pytest_ngraph.workloads.verify import verify


@pytest.mark.parametrize("optimize", ["true", "false"])
def test_optimizing_keeps_the_outputs(optimize: str, load: Load, exported: Export) -> None:
    case = Case(workload="conv", compiler=f"torchscript:optimize={optimize}", batch_size=1, width=16)
    model = load(case)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    assert model.facts["optimize"].lower() == optimize


def test_the_file_is_an_ordinary_torchscript_archive(exported: Export, tmp_path: Path) -> None:
    import torch

    case = Case(workload="conv", compiler="torchscript", batch_size=1, width=16)
    TorchScript().compile(exported(case), CPU, tmp_path)
    module = torch.jit.load(tmp_path / FILE)  # type: ignore[no-untyped-call]
    (x,) = exported(case).inputs()
    assert module(torch.from_numpy(x)).shape == exported(case).reference()[0].shape
