"""An artifact so small that compiling it takes only what a compiler does once per process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ngraph.artifact import Artifact, save_arrays
from pytest_ngraph.workloads.tensors import dtype, flatten, to_array

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ngraph.case import Case


def export_tiny(case: Case, folder: Path, *, onnx: bool) -> Artifact:
    """Write a tiny artifact into a folder, which is empty.

    Args:
        case: whose precision it has.
        onnx: write an ONNX file in place of a program.
    """
    import torch

    if onnx:
        return _onnx(case, folder)
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.LayerNorm(16),
        torch.nn.Linear(16, 16),
        torch.nn.GELU(),
        torch.nn.Softmax(-1),
    )
    module, image = layers.eval(), torch.zeros(1, 3, 16, 16)
    save_arrays(folder / "inputs.npz", [to_array(image)])
    with torch.no_grad():
        save_arrays(folder / "reference.npz", flatten(module(image)))
    kind = dtype(case.precision)
    path = folder / "program.pt2"
    torch.export.save(torch.export.export(module.to(kind), (image.to(kind),), strict=False), path)
    return Artifact(folder=folder, case=case, program=path)


def _onnx(case: Case, folder: Path) -> Artifact:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 16]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "tiny", [x], [y])
    path = folder / "tiny.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    for name in ("inputs", "reference"):
        save_arrays(folder / f"{name}.npz", [np.zeros((1, 16), np.float32)])
    return Artifact(folder=folder, case=case, onnx=path)
