"""Write the exported program as an ONNX file, for compilers that read ONNX."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.compilers import program
from pytest_ngraph.compilers.conversion import converting
from pytest_ngraph.errors import Unsupported


def write_onnx(artifact: Artifact, path: Path) -> None:
    """Write the artifact's program in its precision to `path`, with large weights in a file beside it.

    Raises:
        Unsupported: ONNX lacks an operator, which the message names; also as `program.load` raises it.
    """
    import torch

    loaded = program.load(artifact)
    # Not in bf16: the optimizer leaves weights in fp32 where it folds a normalization into a convolution.
    optimize = artifact.case.precision != "bf16"
    try:
        with converting():
            torch.onnx.export(loaded, (), path, dynamo=True, verbose=False, optimize=optimize)
    except torch.onnx.errors.OnnxExporterError as error:
        raise Unsupported(f"torch.onnx cannot export {artifact.case.workload}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """Return the first line of the original error: the errors raised from it hold advice on reporting bugs."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).partition("\n")[0]
