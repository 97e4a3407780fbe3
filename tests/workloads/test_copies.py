"""Modules that users keep, and modules that Python cannot copy by itself."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from uncopied import KEPT, Locked, locked, normalized

from pytest_ngraph.case import Case, Precision
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads import build
from pytest_ngraph.workloads.copies import copied, own
from pytest_ngraph.workloads.export import export


class Remembering(nn.Module):
    """Takes from a hook what a part has computed, as extractors of features do."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.found = nn.Linear(4, 4), {"linear": torch.zeros(1)}
        self.linear.register_forward_hook(lambda module, args, output: self.found.update(linear=output))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.linear(x)
        return self.found["linear"]


def _case(function: str, precision: Precision = "fp32") -> Case:
    return Case(workload=f"uncopied:{function}", compiler="identity", batch_size=1, precision=precision)


@pytest.mark.parametrize("function", [locked, normalized])
def test_locks_and_computed_weights_are_copied(function: Callable[[], tuple[nn.Module, torch.Tensor]]) -> None:
    module, x = function()
    with torch.no_grad():
        other = copied(module)
        expected = module(x)
        assert torch.equal(other(x), expected)
        for parameter in other.parameters():
            parameter.zero_()
        assert not torch.equal(other(x), expected)
        assert torch.equal(module(x), expected)


def test_locks_are_no_easier_to_copy_afterwards() -> None:
    copied(Locked())
    with pytest.raises(TypeError):
        copy.deepcopy(threading.Lock())


def test_a_copy_shares_what_stays_as_it_is() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4).bfloat16())
    mine = own(module, "fp32")
    assert mine.get_parameter("0.weight") is module.get_parameter("0.weight")
    assert mine.get_parameter("1.weight") is not module.get_parameter("1.weight")
    assert own(module.eval(), None) is module
    ready = nn.Linear(4, 4).eval()
    assert own(ready, "fp32") is ready


def test_a_module_whose_functions_may_refer_to_its_parts_is_not_copied() -> None:
    module = Remembering()
    assert own(module, "fp32") is module


def test_a_module_that_the_user_keeps_is_as_it_was(tmp_path: Path) -> None:
    for name in ("cast", "own"):
        (tmp_path / name).mkdir()
    export(_case("cast"), tmp_path / "cast")
    assert KEPT.training
    assert {each.dtype for each in KEPT.parameters()} == {torch.bfloat16}
    assert export(_case("own"), tmp_path / "own").precisions == ("bf16",)
    build(_case("cast"))
    assert build(_case("own")).module is KEPT


@pytest.mark.parametrize("function", ["locked", "normalized"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_what_python_cannot_copy_is_exported(function: str, precision: Precision, tmp_path: Path) -> None:
    artifact = export(_case(function, precision), tmp_path)
    assert artifact.export_error == ""
    assert artifact.model.flops


def test_what_cannot_be_copied_at_all_is_cast_nowhere_but_to_fp32(tmp_path: Path) -> None:
    for name in ("fp32", "bf16"):
        (tmp_path / name).mkdir()
    assert export(_case("generating"), tmp_path / "fp32").program
    with pytest.raises(
        UsageError, match=r"cannot be copied \(TypeError: .*generator.*\), .* Leave out precision"
    ) as no:
        export(_case("generating", "bf16"), tmp_path / "bf16")
    assert "\n" not in str(no.value)
