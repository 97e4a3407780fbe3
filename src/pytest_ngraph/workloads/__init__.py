"""Workloads: the models to compile, with their inputs.

A `Case` enters; an `Artifact` leaves, written into a folder: the exported program or ONNX file, the inputs, and the
reference outputs of eager PyTorch. Each kind of workload is a `Family` with a file of its own (`blocks`, `imported`,
`onnx_file`, `timm`), found by entry points (group `pytest_ngraph.workloads`), built-ins included. `verify.py` compares
a compiled model's outputs with the reference. Open `export.py` first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from pytest_ngraph.case import sizes_label
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system import entry_points

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from pytest_ngraph.artifact import Artifact
    from pytest_ngraph.case import Case

GROUP = "pytest_ngraph.workloads"
OPTIONAL = {
    "sizes": "use a workload that has sizes of its own: package.module:function, or an ONNX file",
    "shapes": "return inputs of these shapes with the module. Only ONNX files take shapes",
    "inputs": "return the inputs with the module. Only ONNX files take them from the mark",
}
"""The fields of a case that only some families take, with what to do instead."""
SEED = 0
"""Seeds weights and inputs, so that every process and every revision builds the same."""


@dataclass(frozen=True, slots=True)
class Built:
    """A PyTorch workload: a module in evaluation mode and fp32, on the CPU, and its inputs.

    Attributes:
        module: the module.
        inputs: tensors whose first axis is the batch size.
    """

    module: torch.nn.Module
    inputs: tuple[torch.Tensor, ...]


class Family(Protocol):
    """A kind of workload."""

    priority: int
    """Families are asked in rising order of priority. The first that owns a name gets it.

    A family that takes sizes of the user's own has `takes = ("sizes",)` too.
    """

    def owns(self, name: str) -> bool:
        """Return whether a workload of this name belongs here. Import no framework and read no file."""
        ...

    def check(self, case: Case) -> None:
        """Raise `UsageError` for an impossible case (depth, width, a missing file). Import no framework."""
        ...

    def build(self, case: Case) -> Built:
        """Build the module and its inputs, the same on every call. Raise `Unsupported` where there is no module."""
        ...

    def export(self, case: Case, folder: Path) -> Artifact:
        """Write the artifact into `folder`, which is empty: the same on every call."""
        ...


def taken(name: str) -> tuple[str, ...]:
    """Return the fields of a case, of those in `OPTIONAL`, that a workload's family takes: its attribute `takes`."""
    return tuple(getattr(family(name), "takes", ()))


def check(case: Case) -> None:
    """Raise `UsageError` for an impossible case, or one with a size that nothing takes. Import no framework."""
    for name, instead in OPTIONAL.items():
        if getattr(case, name) and name not in taken(case.workload):
            given = f"size {sizes_label(case.sizes)}" if name == "sizes" else name
            raise UsageError(f"{given}: {case.workload} takes no {name}. Leave it out, or {instead}.")
    family(case.workload).check(case)


@cache
def family(name: str) -> Family:
    """Return the family that owns a workload's name."""
    families: list[Family] = [entry_points.load(GROUP, "family", n)() for n in entry_points.registered(GROUP)]
    return next(f for f in sorted(families, key=lambda f: f.priority) if f.owns(name))


def modules_of(name: str) -> tuple[str, str]:
    """Return the modules in which a workload's code begins: its family's, and the one that an import string names."""
    return type(family(name)).__module__, name.removeprefix("./").replace("/", ".").partition(":")[0]


def build(case: Case) -> Built:
    """Build the case's workload. Raise `Unsupported` for an ONNX file, which has no PyTorch module."""
    return family(case.workload).build(case)
