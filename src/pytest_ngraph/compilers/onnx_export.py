"""The exported program as an ONNX file, for the compilers that read those."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.compilers import program
from pytest_ngraph.errors import Unsupported


def write_onnx(artifact: Artifact, path: Path) -> None:
    """Write the artifact's program in its precision to `path`, large weights beside it.

    Raise `Unsupported` with the operator's name for what ONNX lacks; else as `program.load` does.
    """
    import torch

    loaded = program.load(artifact)
    # The exporter's optimizer leaves weights in fp32 where it folds a normalization into a convolution in bf16.
    optimize = artifact.case.precision != "bf16"
    try:
        torch.onnx.export(loaded, (), path, dynamo=True, verbose=False, optimize=optimize)
    except torch.onnx.errors.OnnxExporterError as error:
        raise Unsupported(f"torch.onnx cannot export {artifact.case.workload}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """The first line of the error that began it: those around it hold advice on reporting."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).partition("\n")[0]
