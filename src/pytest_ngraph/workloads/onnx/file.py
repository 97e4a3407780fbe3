"""ONNX files, compiled unchanged, at a batch size that the file allows."""

from __future__ import annotations

import copy
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.artifact import Array, Artifact, Model, save_arrays
from pytest_ngraph.case import FP32, PRECISIONS
from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.system import onnx_distributions
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads import Built, telemetry
from pytest_ngraph.workloads.onnx import axes as onnx_axes
from pytest_ngraph.workloads.onnx import custom_operators, runtime
from pytest_ngraph.workloads.onnx import inputs as onnx_inputs
from pytest_ngraph.workloads.onnx import values as onnx_values
from pytest_ngraph.workloads.onnx.graph import (
    draws,
    has_control_flow,
    infer_shapes,
    is_quantized,
    name_nodes,
    parameters,
    precision,
    precisions,
    read,
    reopen,
    write,
)
from pytest_ngraph.workloads.onnx.nodes import fed
from pytest_ngraph.workloads.onnx.rows import data_dependent
from pytest_ngraph.workloads.randomness import changing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ngraph.case import Case


FLOATS = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}
"""Precision by the name of NumPy's type."""
NOT_EXCHANGED = ("BFLOAT16", "FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2", "COMPLEX")
"""Beginnings of ONNX's names of types of which arrays are neither given to ONNX Runtime nor returned by it."""


class OnnxFile:
    """A file `*.onnx`, its path relative to the current folder.

    Its reference outputs come from ONNX Runtime with every optimisation off, not from eager PyTorch.
    """

    priority = 20
    takes = ("sizes", "shapes", "inputs")

    def owns(self, name: str) -> bool:
        return name.endswith(".onnx")

    def check(self, case: Case) -> None:
        path = Path(case.workload)
        if not path.is_file():
            raise UsageError(f"workload {case.workload!r}: no such file in {Path.cwd()}. {_neighbours(path)}")
        for name, value in case.model_args:
            if name != custom_operators.ARGUMENT:
                raise UsageError(
                    f"{name}={value}: {case.workload} is an ONNX file and takes no {name}. Leave it out; the only "
                    f"model argument is {custom_operators.ARGUMENT}, the path of a library for ONNX Runtime."
                )

    def build(self, case: Case) -> Built:
        raise Unsupported(f"{case.workload} is an ONNX file and has no PyTorch module. Use a compiler that reads ONNX.")

    def export(self, case: Case, folder: Path) -> Artifact:
        """Write the graph at the case's sizes into `folder`, with all its weights, and its reference outputs.

        Raises:
            UsageError: the file is damaged, needs another batch size or precision, leaves axes open that nothing
                settles, does not fit the inputs that the user gives, or keeps weights outside its own folder.
        """
        self.check(case)
        _require_libraries(case)
        model, custom_ops = read(Path(case.workload), case)
        if case.precision != FP32:
            _check_precision(precision(model), case)
        _check_types(model, case)
        source, given = onnx_inputs.given(case)
        if source:
            onnx_inputs.check(model, source, given, case)
        shapes = {name: array.shape for name, array in given.items() if hasattr(array, "shape")}
        open_axes = copy.deepcopy((list(model.graph.input), list(model.graph.output)))
        batched = onnx_axes.fix(model, case, shapes)
        contradiction = infer_shapes(model)
        name_nodes(model.graph)
        path = folder / "model.onnx"
        files = write(model, path)
        if source:
            values = onnx_inputs.fitted(model, source, given, batched)
            drawn = dict.fromkeys(given, f"given by {source}")
        else:
            values, drawn = onnx_inputs.drawn(model, case, open_axes[0], batched)
        if case.precision != FP32:
            _check_inputs(values, case)
        arrays = [array for value in values.values() for array in onnx_values.leaves(value)]
        inputs_digest = save_arrays(folder / "inputs.npz", arrays)
        calls = 2 if draws(model) else 1
        outputs = _reference(path, values, case, custom_ops, contradiction, {} if source else drawn, calls=calls)
        save_arrays(folder / "reference.npz", outputs[0])
        random = _random(outputs, case)
        unusual = onnx_values.unusual(model)
        names = _names(outputs[0])
        rows = () if unusual else data_dependent(model, outputs[0], names, case.batch_size)
        if has_control_flow(model) and runtime.refusal(path, custom_ops, optimized=True):
            # ONNX Runtime folds a condition on sizes that are known, and then checks the branch that is not taken.
            reopen(model, *open_axes)
            files = write(model, path)
        if unusual:
            onnx_values.save(folder, values, unusual)
        own = precisions(model) if case.precision == FP32 else ()
        if own == (FP32,):
            own = ()  # nothing of its own
        return Artifact(
            folder=folder,
            case=case,
            onnx=path,
            quantized=is_quantized(model),
            digest=_digest([*files, *map(Path, custom_ops)]),
            inputs_digest=inputs_digest,
            model=Model(parameters=parameters(model)),
            drawn=drawn,
            output_names=names if random or rows else (),
            data_dependent=rows,
            random=random,
            precisions=own,
            input_types=_types(values) if own and not unusual else (),
            custom_ops=custom_ops,
        )


def _types(values: Mapping[str, onnx_values.Value]) -> tuple[str, ...]:
    """Return the names of the types of inputs, all of which are arrays."""
    return tuple(value.dtype.name for value in values.values() if value is not None and not isinstance(value, list))


def _random(calls: Sequence[list[Array]], case: Case) -> tuple[str, ...]:
    """Return the names of the outputs that differ in two calls; none of a single call, which draws nothing."""
    if len(calls) == 1:
        return ()
    first, second = calls
    return changing(
        first,
        second,
        _names(first),
        f"{case.workload} draws random numbers in each call, and all of its outputs depend on them, so that none "
        "can be verified. Export it with what it draws as an input, or with an output that does not depend on it.",
    )


def _names(outputs: Sequence[Array]) -> tuple[str, ...]:
    return tuple(f"output[{index}]" for index in range(len(outputs)))


def _neighbours(path: Path) -> str:
    found = sorted(str(near) for near in path.parent.glob("*.onnx")) if path.parent.is_dir() else []
    return f"There: {', '.join(found)}." if found else "Give the path relative to that folder, or an absolute one."


def _check_precision(found: str, case: Case) -> None:
    if found != case.precision:
        step = f"Use precision={found}, or export" if found in PRECISIONS else "Export"
        raise UsageError(
            f"{case.workload} computes in {found}, not in {case.precision}. {step} it again in {case.precision}."
        )


def _check_inputs(values: Mapping[str, onnx_values.Value], case: Case) -> None:
    """Raise `UsageError` for an input in a float type other than the case's, in which compilers are fed."""
    for name, value in values.items():
        kind = "" if value is None or isinstance(value, list) else value.dtype.name
        if kind in FLOATS and FLOATS[kind] != case.precision:
            raise UsageError(
                f"{case.workload} takes input {name!r} in {FLOATS[kind]} and computes in {case.precision}. Export "
                f"it again with inputs in {case.precision}."
            )


def _check_types(model: Any, case: Case) -> None:
    """Raise `UsageError` for an input or output in a type that NumPy lacks, or that ONNX Runtime does not exchange."""
    import onnx

    inputs = [("takes input", "at its beginning", value) for value in fed(model)]
    for has, where, value in [*inputs, *(("gives output", "at its end", value) for value in model.graph.output)]:
        kind = onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type)
        if kind.startswith(NOT_EXCHANGED):
            name = FLOATS.get(kind.lower(), kind.lower())
            raise UsageError(
                f"{case.workload} {has} {value.name!r} in {name}. ONNX Runtime, which computes the reference, does not "
                f"exchange that type with NumPy. Export it again in fp32 or fp16, or with a Cast {where}."
            )


def _require_libraries(case: Case) -> None:
    telemetry.disable_telemetry()
    try:
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise _needs(case, error, onnx_distributions.to_import()) from error
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise _needs(case, error, "pip install onnx") from error


def _needs(case: Case, error: ImportError, command: str) -> Unsupported:
    return Unsupported(f"{case.workload} needs onnx and onnxruntime ({first_line(error)}): {command}")


def _reference(
    path: Path,
    values: Mapping[str, onnx_values.Value],
    case: Case,
    custom_ops: Sequence[str],
    contradiction: str,
    drawn: Mapping[str, str],
    *,
    calls: int,
) -> list[list[Array]]:
    """Return the outputs of each call of the written graph.

    Args:
        contradiction: what inferring the shapes has found, which explains a failure better than ONNX Runtime does.
        drawn: what integers and Booleans were drawn as, by the input's name; empty where the user gives the inputs.
    """
    try:
        return runtime.outputs(path, values, custom_ops, calls=calls)
    except Exception as error:  # onnxruntime's errors share no base class of their own
        if reason := runtime.refusal(Path(case.workload), custom_ops, optimized=False):
            raise UsageError(
                f"{case.workload}: ONNX Runtime, which computes the reference, does not load it: {reason}. Export it "
                "with operators and an opset that the installed onnxruntime has, or give the library that has them: "
                f'model_args={{"{custom_operators.ARGUMENT}": "PATH"}}.'
            ) from error
        sizes = "".join(f", {name}={size}" for name, size in case.named_sizes.items())
        step = (
            "Give sizes that fit together, or inputs that the model accepts; a size may also be fixed by an operator."
        )
        if drawn and not contradiction:
            all_drawn = "; ".join(f"{name} as {what}" for name, what in drawn.items())
            archive = Path(case.workload).with_suffix(".npz").name
            step = (
                f"It was given integers that were drawn: {all_drawn}. If it needs others, give all inputs "
                f'({", ".join(values)}): inputs="package.module:function", or {archive} beside the file. Else give '
                "sizes that fit together; a size may also be fixed by an operator."
            )
        raise UsageError(
            f"{case.workload} does not run at batch size {case.batch_size}{sizes}: "
            f"{contradiction or first_line(error)}. {step}"
        ) from error


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
