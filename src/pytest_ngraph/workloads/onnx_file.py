"""ONNX files, compiled unchanged, at a batch size that the file allows."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.artifact import Array, Artifact, Model, save_arrays
from pytest_ngraph.case import PRECISIONS
from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.workloads import SEED, Built, frameworks
from pytest_ngraph.workloads.export import first_line
from pytest_ngraph.workloads.onnx_graph import (
    fix_batch_size,
    graph_inputs,
    is_quantized,
    parameters,
    precision,
    read,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from pytest_ngraph.case import Case


FLOATS = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}
"""Precision by the name of NumPy's type."""


class OnnxFile:
    """A file `*.onnx`, its path relative to the current folder.

    Its reference outputs come from ONNX Runtime with every optimisation off, not from eager PyTorch.
    """

    priority = 20

    def owns(self, name: str) -> bool:
        return name.endswith(".onnx")

    def check(self, case: Case) -> None:
        path = Path(case.workload)
        if not path.is_file():
            raise UsageError(f"workload {case.workload!r}: no such file in {Path.cwd()}. {_neighbours(path)}")
        given = {"depth": case.depth, "width": case.width, **dict(case.model_args)}
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"{name}={value}: {case.workload} is an ONNX file and takes no {name}. Leave it out.")

    def build(self, case: Case) -> Built:
        raise Unsupported(f"{case.workload} is an ONNX file and has no PyTorch module. Use a compiler that reads ONNX.")

    def export(self, case: Case, folder: Path) -> Artifact:
        """Write the graph at the case's batch size into `folder`, with all its weights, and its reference outputs.

        Raises:
            UsageError: the file is damaged, needs another batch size or precision, has dynamic axes other than the
                batch, or keeps weights outside its own folder.
        """
        self.check(case)
        _require_libraries(case)
        import numpy as np

        model = read(Path(case.workload))
        _check_precision(precision(model), case)
        _check_outputs(model, case)
        fix_batch_size(model, case.workload, case.batch_size)
        fed = graph_inputs(model)
        _check_inputs({name: kind for name, (_, kind) in fed.items()}, case)
        path = folder / "model.onnx"
        files = write(model, path)
        generator = np.random.default_rng(SEED)
        inputs = [_draw(generator, shape, kind) for shape, kind in fed.values()]
        save_arrays(folder / "inputs.npz", [_widen(array) for array in inputs])
        save_arrays(folder / "reference.npz", _run(path, dict(zip(fed, inputs, strict=True)), case))
        counts = Model(parameters=parameters(model))
        return Artifact(
            folder=folder,
            case=case,
            onnx=path,
            quantized=is_quantized(model),
            digest=_digest(files),
            model=counts,
        )


def _neighbours(path: Path) -> str:
    found = sorted(str(near) for near in path.parent.glob("*.onnx")) if path.parent.is_dir() else []
    return f"There: {', '.join(found)}." if found else "Give the path relative to that folder, or an absolute one."


def _check_precision(found: str, case: Case) -> None:
    if found != case.precision:
        step = f"Use precision={found}, or export" if found in PRECISIONS else "Export"
        raise UsageError(
            f"{case.workload} computes in {found}, not in {case.precision}. {step} it again in {case.precision}."
        )


def _check_inputs(kinds: dict[str, np.dtype[Any]], case: Case) -> None:
    """Raise `UsageError` for an input in a float type other than the case's, in which compilers are fed."""
    for name, kind in kinds.items():
        if kind.name in FLOATS and FLOATS[kind.name] != case.precision:
            raise UsageError(
                f"{case.workload} takes input {name!r} in {FLOATS[kind.name]} and computes in {case.precision}. Export "
                f"it again with inputs in {case.precision}."
            )


def _check_outputs(model: Any, case: Case) -> None:
    """Raise `UsageError` for an output in bf16, for which NumPy has no type."""
    import onnx

    for value in model.graph.output:
        if value.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
            raise UsageError(
                f"{case.workload} gives output {value.name!r} in bf16. ONNX Runtime, which computes the reference, "
                "cannot return that type. Export it again in fp32 or fp16, or with a Cast at its end."
            )


def _require_libraries(case: Case) -> None:
    frameworks.disable_telemetry()
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise Unsupported(
            f"{case.workload} needs onnx and onnxruntime ({first_line(error)}): "
            f'pip install "pytest-ngraph[onnxruntime]"'
        ) from error


def _draw(generator: np.random.Generator, shape: tuple[int, ...], kind: np.dtype[Any]) -> Array:
    """Return random values of this type: floats standard normal; integers 0 or 1, valid as index and as mask."""
    import numpy as np

    if np.issubdtype(kind, np.integer) or kind == np.bool_:
        return generator.integers(0, 2, shape).astype(kind)
    return generator.standard_normal(shape, dtype=np.float32).astype(kind)


def _run(path: Path, inputs: dict[str, Array], case: Case) -> list[Array]:
    """Return the outputs of the written graph, floats as fp32."""
    import numpy as np
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        outputs: Sequence[Any] = session.run(None, inputs)
    except Exception as error:  # onnxruntime's errors share no base class of their own
        raise UsageError(
            f"{case.workload} does not run at batch size {case.batch_size}: {first_line(error)}. "
            f"Check the file with onnx.checker, and check that no operator fixes the batch size."
        ) from error
    return [_widen(output) for output in outputs if isinstance(output, np.ndarray)]


def _widen(array: Array) -> Array:
    import numpy as np

    is_integer = np.issubdtype(array.dtype, np.integer) or array.dtype == np.bool_
    return array if is_integer else array.astype(np.float32)


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
