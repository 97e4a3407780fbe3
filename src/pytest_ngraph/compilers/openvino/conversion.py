"""OpenVINO's intermediate representation of an exported program, of a module, or of an ONNX file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.compilers import program, pytorch
from pytest_ngraph.compilers.profiling import openvino as profiling
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.wording import first_line

LACKING = ("complex64", "complex128", "uint16", "uint32", "uint64")
"""NumPy's names of the types in which a network of PyTorch can have inputs, and OpenVINO's reader of it cannot."""

ELEMENTWISE = ("Add", "Subtract", "Multiply", "Divide")
"""OpenVINO's operations on two tensors, value by value."""


def names_beside(path: Path) -> Path:
    """Return the file that says what OpenVINO calls the operations of the program, beside its representation."""
    return path.with_name("names.json")


def convert(artifact: Artifact, target: Target, path: Path, *, is_module: bool) -> bool:
    """Write the intermediate representation, at the case's size.

    Args:
        path: the file to write.
        is_module: convert a trace of the module, and not its exported program.

    Returns:
        Whether it was made from a trace, of the module or of the program, which holds the values of these inputs.

    Raises:
        Unsupported: it cannot be converted.
    """
    import openvino

    _refuse_inputs(artifact)
    if is_module:
        model, is_trace = _of_module(artifact, target), True
    else:
        model, is_trace = _of_graph(artifact, target, names_beside(path))
    # The conversion drops the sizes. Restore those of the case: static shapes are faster.
    sizes = {index: list(array.shape) for index, array in enumerate(artifact.inputs())}
    model.reshape(sizes)
    if any(map(_scales_a_normalization, model.get_ops())):
        model.reshape({index: [-1, *lengths[1:]] if lengths else [] for index, lengths in sizes.items()})
    openvino.save_model(model, path, compress_to_fp16=False)
    return is_trace


def _scales_a_normalization(operation: Any) -> bool:
    """Return whether this scales or shifts a group normalization by what is computed, such as `1 + scale`.

    Diffusion models do so with the embedding of their time step. For static shapes in fp32, OpenVINO 2026.4 makes one
    kernel of it on a CPU, and crashes while it compiles that.
    """
    if operation.get_type_name() not in ELEMENTWISE:
        return False
    givers = [each.get_source_output() for each in operation.inputs()]
    types = [each.get_node().get_type_name() for each in givers]
    differ = givers[0].get_partial_shape() != givers[1].get_partial_shape()
    return differ and "GroupNormalization" in types and any(each in ELEMENTWISE for each in types)


def _refuse_inputs(artifact: Artifact) -> None:
    """Raise `Unsupported` for inputs that end in a KeyError otherwise, or in an error once the model is loaded."""
    if artifact.onnx is not None:
        return
    for name, array in zip(artifact.input_names, artifact.inputs(), strict=True):
        if (kind := array.dtype.name) in LACKING:
            raise Unsupported(f"openvino takes no input in {kind}, as {name} of {artifact.case.workload} is")


def _of_module(artifact: Artifact, target: Target) -> Any:
    import openvino

    built = pytorch.rebuilt(artifact, target)
    try:
        trace, args = pytorch.traced_whole(built)
        return openvino.convert_model(trace, example_input=args)
    except Exception as error:  # tracing may raise anything
        is_openvinos = isinstance(error, _refusals())
        stopped = f"openvino cannot convert a trace of it: {_reason(error) if is_openvinos else first_line(error)}"
        raise program.untraceable(artifact, stopped) from error


def _of_graph(artifact: Artifact, target: Target, names: Path) -> tuple[Any, bool]:
    """Return OpenVINO's model of the ONNX file or the exported program, and whether it was made from a trace.

    OpenVINO knows operators in traces that it does not know in exported programs, and takes a tensor that is an output
    twice. Where such a thing stops it, it gets a trace of the same program.
    """
    import openvino

    file = program.onnx_file(artifact, "openvino")
    try:
        if file is not None:
            model = openvino.convert_model(file)
            # Of an input that is an output, too, `convert_model` makes two, and nobody feeds the second.
            has_more = len(model.inputs) > len(artifact.inputs())
            return openvino.Core().read_model(file) if has_more else model, False
        loaded = program.load(artifact)
        with profiling.noting_names(loaded, names):
            return openvino.convert_model(loaded), False
    except _refusals() as error:
        if file is None:
            inputs = program.inputs(artifact)
            with suppress(Exception):  # what stops both is explained by the first
                trace = pytorch.traced(pytorch.program_module(artifact, target), inputs)
                return openvino.convert_model(trace.eval(), example_input=inputs), True
        raise Unsupported(f"openvino cannot convert {artifact.case.workload}: {_reason(error)}") from error


def _refusals() -> tuple[type[Exception], ...]:
    """Return the exceptions by which OpenVINO refuses a graph."""
    import openvino

    return openvino.frontend.OpConversionFailure, openvino.frontend.GeneralFailure


def _reason(error: Exception) -> str:
    """Return the line of OpenVINO's error that names the operators; the rest is its own source lines."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "No conversion rule" in line), lines[-1] if lines else "no reason given")
