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

from pytest_ngraph.system import entry_points

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from pytest_ngraph.artifact import Artifact
    from pytest_ngraph.case import Case

GROUP = "pytest_ngraph.workloads"
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
    """Families are asked in rising order of priority. The first that owns a name gets it."""

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
