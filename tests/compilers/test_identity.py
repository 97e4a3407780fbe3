from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from compiled import CPU, Export, Load

from pytest_ngraph.case import Case
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.workloads.verify import verify

CONV = Case(workload="conv", compiler="identity", batch_size=1, width=16)


@pytest.mark.parametrize("options", ["graph=program", "channels_last=true", "channels_last=true,graph=program"])
def test_options_keep_the_outputs(options: str, load: Load, exported: Export) -> None:
    model = load(Case.from_dict(CONV.to_dict() | {"compiler": f"identity:{options}"}))
    assert verify(model.outputs(), exported(CONV).reference(), "fp32").agrees


def test_channels_last_reaches_the_convolutions(load: Load) -> None:
    import torch

    model = load(Case.from_dict(CONV.to_dict() | {"compiler": "identity:channels_last=true"}))
    output = model()
    assert isinstance(output, torch.Tensor)
    assert output.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("graph", ["module", "program"])
def test_channels_last_leaves_weights_of_five_dimensions_alone(graph: str, load: Load, exported: Export) -> None:
    import torch

    case = Case(workload="layouts:frames", compiler=f"identity:channels_last=true,graph={graph}", batch_size=1)
    model = load(case)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    output = model()
    assert isinstance(output, torch.Tensor)
    assert output.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(("workload", "width"), [("layouts:video", None), ("mha", 16)])
def test_channels_last_is_for_networks_with_weights_of_four_dimensions(
    workload: str, width: int | None, load: Load
) -> None:
    case = Case(workload=workload, compiler="identity:channels_last=true", batch_size=1, width=width)
    with pytest.raises(
        Unsupported, match=r"no weight of .* has 4 dimensions, so that channels_last=true changes nothing"
    ):
        load(case)


def test_no_gradient_is_recorded(load: Load) -> None:
    import torch

    output = load(CONV)()
    assert isinstance(output, torch.Tensor)
    assert output.is_inference()


@pytest.mark.parametrize("function", ["forces", "forces_in_any_mode"])
def test_a_module_that_differentiates_runs_without_inference_mode(function: str, load: Load, exported: Export) -> None:
    case = Case(workload=f"differentiating:{function}", compiler="identity", batch_size=3)
    model = load(case)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    assert model.facts["inference_mode"] == "off"
    assert "inference_mode" not in load(CONV).facts


def test_an_onnx_file_runs_unoptimized(load: Load, onnx_file: Path, exported: Export) -> None:
    case = Case(workload=str(onnx_file), compiler="identity", batch_size=2)
    model = load(case)
    assert model.facts["optimization"] == "none"
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees


@pytest.mark.parametrize("variant", [{"precision": "bf16"}, {"compiler": "identity:channels_last=true"}])
def test_a_module_that_the_user_keeps_stays_as_it_is(
    variant: dict[str, str], load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    (tmp_path / "kept_by_user.py").write_text(
        "import torch\nNET = torch.nn.Conv2d(3, 8, 3)\ndef net():\n    return NET, torch.ones(1, 3, 8, 8)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    case = Case(workload="kept_by_user:net", compiler="identity", batch_size=1)
    load(case)
    weight = sys.modules["kept_by_user"].NET.weight
    before = weight.detach().clone()
    changed = Case.from_dict(case.to_dict() | variant)
    load(changed, replace(CPU, precision=changed.precision))
    assert weight.dtype == torch.float32
    assert weight.is_contiguous()
    assert torch.equal(weight, before)
