from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from pytest_ngraph.case import Case, Precision
from pytest_ngraph.compilers.program import inputs
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads import build
from pytest_ngraph.workloads.export import export
from pytest_ngraph.workloads.own_types import is_quantized
from pytest_ngraph.workloads.verify import coarsest

if TYPE_CHECKING:
    from pathlib import Path


def _case(function: str, precision: Precision = "fp32") -> Case:
    return Case(workload=f"as_is:{function}", compiler="identity", batch_size=2, precision=precision)


def test_types_and_mode_stay(tmp_path: Path) -> None:
    built = build(_case("mixed"))
    assert built.module.training
    assert built.module.get_parameter("first.weight").dtype is torch.bfloat16
    assert built.inputs[0].dtype is torch.bfloat16
    assert built.inputs[0].shape[0] == 2
    artifact = export(_case("mixed"), tmp_path)
    assert artifact.precisions == ("bf16", "fp32")
    assert artifact.input_types == ("bfloat16",)
    assert not artifact.quantized


def test_a_quantized_module_may_differ_by_more(tmp_path: Path) -> None:
    artifact = export(_case("dynamically_quantized"), tmp_path)
    assert artifact.quantized
    assert artifact.export_error
    assert artifact.precisions == ("fp32",)
    assert not is_quantized(build(_case("mixed")).module)


@pytest.mark.parametrize("function", ["fake_quantized", "prepared_for_training"])
def test_what_rounds_but_keeps_floats_is_quantized_too(function: str, tmp_path: Path) -> None:
    artifact = export(_case(function), tmp_path)
    assert artifact.quantized
    assert artifact.program


def test_a_quantile_rounds_nothing() -> None:
    class Median(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.quantile(x, 0.5, dim=1)

    assert not is_quantized(torch.export.export(Median(), (torch.rand(2, 4),)).graph_module)


def test_doubles_reach_compiled_models_as_they_are(tmp_path: Path) -> None:
    artifact = export(_case("since_1970"), tmp_path)
    (seconds,) = inputs(artifact)
    assert seconds.dtype is torch.float64
    assert seconds.tolist() == [[1.7e9 + 3]] * 2
    assert artifact.reference()[0].tolist() == [[3]] * 2


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            _case("mixed", "bf16"),
            r"is left as it is \(as_is=True\), so it cannot be cast to bf16\. Leave out precision",
        ),
        (
            _case("exported"),
            r"cannot be put into fp32 .* \(NotImplementedError: Calling.*return pytest_ngraph\.Built\(.*as_is=True\)",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_the_next_step(case: Case, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refusal:
        build(case)
    assert "\n" not in str(refusal.value)


def test_the_tolerance_is_that_of_the_coarsest_precision() -> None:
    assert coarsest(("bf16", "fp32"), otherwise="fp32") == "bf16"
    assert coarsest(("fp64",), otherwise="fp16") == "fp16"
    assert coarsest((), otherwise="fp32") == "fp32"
