"""Write what serves a compiled model: its files, sample inputs, and the outputs that it must give for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Array, Artifact, Target, save_arrays
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import serving

Outputs = Callable[[], Sequence[Array]]
INPUTS, REFERENCE = "inputs.npz", "reference.npz"


def deploy(
    case: Case, artifact: Artifact, target: Target, compiled: Path, outputs: Outputs, folder: Path
) -> dict[str, Any]:
    """Write into `folder` all that the compiler knows of, and the arrays.

    Args:
        compiled: what the compiler wrote when it compiled.
        outputs: returns those of the model that was loaded from there and verified.

    Returns:
        JSON-ready data: `serving`, and what `inputs` and `outputs` are: name, type and shape of each.

    Raises:
        Unsupported: the compiler cannot deploy this model.
    """
    found = serving.deploy(case.compiler, compilers.resolve(case.compiler), artifact, target, compiled, folder)
    # Where values decide how large outputs are, eager PyTorch's may be in another order: then the verified model's own.
    reference = list(outputs()) if artifact.data_dependent else artifact.reference()
    inputs = serving.samples(artifact)
    save_arrays(folder / INPUTS, inputs)
    save_arrays(folder / REFERENCE, reference)
    return {
        "serving": found.to_dict(),
        "inputs": _described(inputs, artifact.input_names, "input"),
        "outputs": _described(reference, artifact.output_names, "output"),
    }


def _described(arrays: list[Array], names: tuple[str, ...], kind: str) -> list[list[str]]:
    numbered = [f"{kind}[{index}]" for index in range(len(arrays))]
    shapes = (" x ".join(map(str, array.shape)) or "scalar" for array in arrays)
    return [
        [name, str(array.dtype), shape] for name, array, shape in zip(names or numbered, arrays, shapes, strict=True)
    ]
