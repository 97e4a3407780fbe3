from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.workloads.export import export
from pytest_ngraph.workloads.operators import homes

LIBRARY: Any = torch.library.Library("ngraph_homes", "DEF")  # type: ignore[no-untyped-call]
LIBRARY.define("thrice(Tensor x) -> Tensor")
LIBRARY.impl("thrice", lambda x: x * 3, "CompositeExplicitAutograd")
LIBRARY._register_fake("thrice", torch.empty_like)


class Thrice(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        thrice: torch.Tensor = torch.ops.ngraph_homes.thrice(x)
        return thrice + 1


class Pooled(torch.nn.Module):
    """Pools what lies in boxes, by an operator of torchvision."""

    def forward(self, boxes: torch.Tensor) -> torch.Tensor:
        from torchvision.ops import roi_align

        pooled: torch.Tensor = roi_align(boxes.new_ones(1, 3, 8, 8), [boxes], 2)
        return pooled


def test_what_pytorch_defines_has_no_home() -> None:
    assert homes(torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),)), "mine:linear") == ()


@pytest.mark.parametrize(
    ("workload", "expected"),
    [("nets.mine:thrice", ("nets.mine",)), ("resnet18", ()), ("hf:bert", ()), ("hf-hub:owner/model", ())],
    ids=["import string", "name", "of transformers", "of timm's hub"],
)
def test_what_a_library_defines_is_looked_for_where_the_workload_is(workload: str, expected: tuple[str, ...]) -> None:
    assert homes(torch.export.export(Thrice(), (torch.ones(2),)), workload) == expected


def test_operators_of_torchvision_are_its_own() -> None:
    pytest.importorskip("torchvision")
    assert homes(torch.export.export(Pooled(), (torch.rand(2, 4),)), "mine:pooled") == ("torchvision",)


@pytest.mark.parametrize("file", ["ngraph_homes/__init__.py", None], ids=["package", "namespace package"])
def test_what_a_namespace_of_the_users_package_has_may_be_defined_anywhere_in_it(
    file: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a module that the workload's imports. Importing the package alone does not define it."""
    package = ModuleType("ngraph_homes")
    package.__file__ = file
    monkeypatch.setitem(sys.modules, "ngraph_homes", package)
    program = torch.export.export(Thrice(), (torch.ones(2),))
    assert homes(program, "ngraph_homes.model:thrice") == ("ngraph_homes", "ngraph_homes.model")


def test_an_artifact_says_where_the_operators_of_its_program_are_defined(tmp_path: Path) -> None:
    artifact = export(Case(workload="twice:build", compiler="tvm", batch_size=2), tmp_path)
    assert artifact.operators == ("twice",)
    assert Artifact.from_dict(artifact.to_dict()) == artifact
