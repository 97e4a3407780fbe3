"""What an ONNX graph takes and gives besides tensors of numbers: texts, sequences, maps, and optional values.

Only ONNX Runtime runs such graphs. The export writes the values under their names beside `inputs.npz`, and the compiler
reads them back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_ngraph.workloads.onnx.nodes import fed

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Array, Artifact

Value: TypeAlias = "Array | list[Array] | None"
"""A tensor, a sequence of tensors, or an optional input that is left out."""

FILE, ARRAYS = "values.json", "values.npz"


def unusual(model: Any) -> list[str]:
    """Return the inputs and outputs that are no tensors of numbers, as phrases: `input 'names' (texts)`."""
    import onnx

    found = []
    for what, values in (("input", fed(model)), ("output", model.graph.output)):
        for value in values:
            kind = value.type.WhichOneof("value")
            if kind == "tensor_type" and value.type.tensor_type.elem_type == onnx.TensorProto.STRING:
                found.append(f"{what} {value.name!r} (texts)")
            elif kind not in ("tensor_type", None):
                found.append(f"{what} {value.name!r} ({kind.removesuffix('_type').replace('_', ' ')})")
    return found


def save(folder: Path, values: Mapping[str, Value], why: Iterable[str]) -> None:
    """Write the inputs of a graph that only ONNX Runtime runs.

    Args:
        why: what is unusual about the graph.
    """
    import numpy as np

    counts = {
        name: len(value) if isinstance(value, list) else None for name, value in values.items() if value is not None
    }
    arrays = [array for value in values.values() for array in _parts(value)]
    np.savez(folder / ARRAYS, **{f"a{index:04d}": array for index, array in enumerate(arrays)})  # type: ignore[arg-type]
    (folder / FILE).write_text(json.dumps({"counts": counts, "why": list(why)}))


def load(artifact: Artifact) -> dict[str, Value] | None:
    """Return the inputs by name, without those that are left out; None for a graph that every compiler can be given."""
    import numpy as np

    path = artifact.folder / FILE
    if not path.exists():
        return None
    with np.load(artifact.folder / ARRAYS, allow_pickle=False) as archive:
        arrays = iter([archive[name] for name in sorted(archive.files)])
    values: dict[str, Value] = {}
    for name, count in json.loads(path.read_text())["counts"].items():
        values[name] = next(arrays) if count is None else [next(arrays) for _ in range(count)]
    return values


def reasons(artifact: Artifact) -> list[str]:
    """Return what is unusual about the artifact's graph."""
    path = artifact.folder / FILE
    found: list[str] = json.loads(path.read_text())["why"] if path.exists() else []
    return found


def leaves(value: Any) -> list[Array]:
    """Return the arrays in an input or output, floats of any precision as fp32, texts as NumPy's own type.

    A map becomes two arrays, its keys and its values.
    """
    import numpy as np

    parts = _parts(value)
    return [
        array.astype(np.float32) if array.dtype.kind == "f" and array.dtype != np.float64 else array for array in parts
    ]


def _parts(value: Any) -> list[Array]:
    """Return the arrays in an input or output as `leaves` does, but each number in its own type."""
    import numpy as np

    if value is None:
        return []
    if isinstance(value, dict):
        return [np.array(list(value)), np.array(list(value.values()))]
    if isinstance(value, list):
        return [array for each in value for array in _parts(each)]
    array = np.asarray(value)
    return [array.astype(str) if array.dtype.kind in "OSU" else array]
