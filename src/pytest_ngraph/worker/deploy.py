"""Write what serves a compiled model: its files, script and requirements, sample inputs, and the outputs for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Array, Artifact, Target, save_arrays
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import serving
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.serving.requirements import FILE, elsewhere, install_bytes, requirements
from pytest_ngraph.serving.script import INPUTS, REFERENCE, SCRIPT, script
from pytest_ngraph.wording import listed
from pytest_ngraph.workloads.comparing import smallest_mask
from pytest_ngraph.workloads.verify import allowed_in, coarsest

Outputs = Callable[[], Sequence[Array]]
OF_VALUES = "GuardOnDataDependent"
"""The kind of error with which `torch.export` refuses code that values decide."""
MOST_NAMED = 4
"""Buffers that a message names."""


def deploy(
    case: Case,
    artifact: Artifact,
    target: Target,
    compiled: Path,
    outputs: Outputs,
    tolerance: float,
    folder: Path,
    facts: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Write a folder that serves.

    Args:
        compiled: what the compiler wrote when it compiled.
        outputs: returns those of the model that was loaded from there and verified.
        tolerance: largest relative difference from the reference that is allowed.
        folder: what is deployed; empty.
        facts: what the model reports of itself.

    Returns:
        The fields of `serving.written.Written`, JSON-ready.

    Raises:
        Unsupported: the compiler cannot deploy this model, or the disk is full.
    """
    if (facts or {}).get("source") == "trace" and (OF_VALUES in artifact.export_error or artifact.values_decide):
        why = f": {artifact.export_error}" if artifact.export_error else ""
        raise Unsupported(
            f"{case.compiler} has a trace of {case.workload}, which repeats what its code did for the sample inputs. "
            f"Values decide what the code does, so that a folder would be wrong for others{why}. Use torch.where for "
            "what depends on values, keep numbers in tensors (without item), or deploy it under torchscript if that "
            "can script it"
        )
    try:
        return _deploy(case, artifact, target, compiled, outputs, tolerance, folder)
    except OSError as error:
        raise Unsupported(f"its folder cannot be written: {error.strerror or error}") from error


def _deploy(
    case: Case, artifact: Artifact, target: Target, compiled: Path, outputs: Outputs, tolerance: float, folder: Path
) -> dict[str, Any]:
    if artifact.random:
        raise Unsupported(
            f"{case.workload} draws {', '.join(artifact.random)} at random in each call, so that a folder could not "
            "check itself. Let forward take what it draws as an input, and measure that."
        )
    if artifact.state:
        raise Unsupported(
            f"each call of {case.workload} writes into {listed(artifact.state, MOST_NAMED)}, and its outputs depend on "
            "what was there before, so that a folder would answer from the sample inputs, or from those of another "
            "caller. Let forward take it as an input and return what it becomes, or write all of it before it reads it."
        )
    found = serving.deploy(case.compiler, compilers.resolve(case.compiler), artifact, target, compiled, folder)
    artifact_bytes = _bytes_read(found, folder)
    reference = _reference(artifact, outputs)
    inputs = serving.samples(artifact)
    save_arrays(folder / INPUTS, inputs)
    save_arrays(folder / REFERENCE, reference)
    modules = ["numpy", *found.libraries]
    allowed = allowed_in(coarsest(artifact.precisions, otherwise=target.precision))
    mask = smallest_mask(reference, allowed.mask)
    (folder / SCRIPT).write_text(script(case, found, inputs, target.threads, tolerance, mask))
    (folder / FILE).write_text(requirements(modules))
    return {
        "serving": found.to_dict(),
        "artifact_bytes": artifact_bytes,
        "install_bytes": install_bytes(modules),
        "packages": elsewhere(modules),
        "inputs": _described(inputs, artifact.input_names, "input"),
        "outputs": _described(reference, artifact.output_names, "output"),
    }


def _reference(artifact: Artifact, outputs: Outputs) -> list[Array]:
    """Return what the folder compares its outputs with: eager PyTorch's, or the verified model's own.

    Where values decide how large outputs are, eager PyTorch's may be in another order. Of integers, rounding to fewer
    bits than in fp32 may have changed some.
    """
    reference = artifact.reference()
    if not artifact.data_dependent and all(array.dtype.kind in "fc" for array in reference):
        return reference
    own = list(outputs())
    if artifact.data_dependent:
        return own
    pairs = zip(own, reference, strict=True)
    return [expected if expected.dtype.kind in "fc" else found for found, expected in pairs]


def _bytes_read(found: Serving, folder: Path) -> int:
    """Return the size of the compiler's files that `load()` reads."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files if str(path.relative_to(folder)) not in found.spare)


def _described(arrays: list[Array], names: tuple[str, ...], kind: str) -> list[list[str]]:
    numbered = [f"{kind}[{index}]" for index in range(len(arrays))]
    shapes = (" x ".join(map(str, array.shape)) or "scalar" for array in arrays)
    return [
        [name, str(array.dtype), shape] for name, array, shape in zip(names or numbered, arrays, shapes, strict=True)
    ]
