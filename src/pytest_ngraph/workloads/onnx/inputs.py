"""The inputs of an ONNX file: those that the user gives, checked, or drawn by what they mean."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.errors import UsageError
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads import SEED
from pytest_ngraph.workloads.drawing import Ids, Positions, Role, Values, draw
from pytest_ngraph.workloads.onnx.nodes import fed
from pytest_ngraph.workloads.onnx.roles import roles
from pytest_ngraph.workloads.refusals import reason, to_see
from pytest_ngraph.workloads.seeding import seeded

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Array
    from pytest_ngraph.case import Case
    from pytest_ngraph.workloads.onnx.values import Value

TEXT = "text"
"""What inputs of texts are drawn as."""


def given(case: Case) -> tuple[str, dict[str, Any]]:
    """Return the inputs that the user gives, by name, after where they come from; nothing twice where he gives none.

    They come from the function that the case names, else from an archive beside the file, `net.npz` for `net.onnx`.

    Raises:
        UsageError: the function or the archive cannot be read.
    """
    import numpy as np

    if case.inputs:
        returned = _call(case)
        if not isinstance(returned, Mapping) or not all(isinstance(name, str) for name in returned):
            raise UsageError(
                f"inputs {case.inputs} returned {type(returned).__name__}. Return a dict of arrays by the names of "
                f"{case.workload}'s inputs."
            )
        return case.inputs, {name: _array(value) for name, value in returned.items()}
    path = Path(case.workload).with_suffix(".npz")
    if not path.is_file():
        return "", {}
    try:
        with np.load(path, allow_pickle=False) as archive:
            return str(path), {name: archive[name] for name in archive.files}
    except Exception as error:  # a damaged archive may raise anything
        raise UsageError(
            f"{path} cannot be read ({type(error).__name__}: {first_line(error)}). "
            "Write it with numpy.savez(path, name=array), or remove it, so that inputs are drawn."
        ) from error


def check(model: Any, source: str, arrays: Mapping[str, Any], case: Case) -> None:
    """Raise `UsageError` where what the user gives does not fit the inputs of the graph.

    Args:
        source: where it comes from.
    """
    import numpy as np
    import onnx

    values = {value.name: value for value in fed(model)}
    for name in arrays:
        if name not in values:
            raise UsageError.unknown(f"input of {case.workload} in {source}", name, values)
    for name, value in values.items():
        if name not in arrays:
            if value.type.HasField("optional_type"):
                continue
            raise UsageError(
                f"{source} lacks input {name!r} of {case.workload}; it has {', '.join(arrays) or 'none'}. Give all: "
                f"{', '.join(values)}."
            )
        if not value.type.HasField("tensor_type") or arrays[name] is None:
            continue
        is_text = value.type.tensor_type.elem_type == onnx.TensorProto.STRING
        if not isinstance(arrays[name], np.ndarray):
            if is_text:  # ONNX Runtime takes lists of texts
                continue
            raise UsageError(
                f"{source}: input {name!r} is a list, and {case.workload} takes an array. Convert it: "
                f"numpy.array({name})."
            )
        tensor, array = value.type.tensor_type, arrays[name]
        wanted = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        if is_text:
            wanted = array.dtype if array.dtype.kind in "OSU" else np.dtype(str)
        if array.dtype != wanted:
            raise UsageError(
                f"{source}: input {name!r} is {array.dtype}, and {case.workload} takes {wanted}. Convert it: "
                f"{name}.astype('{wanted}')."
            )
        if tensor.HasField("shape") and array.ndim != len(tensor.shape.dim):
            raise UsageError(
                f"{source}: input {name!r} has shape {array.shape}, and {case.workload} takes {len(tensor.shape.dim)} "
                "axes. Give an array with as many."
            )


def fitted(model: Any, source: str, arrays: Mapping[str, Any], batched: Mapping[str, int]) -> dict[str, Value]:
    """Return the user's inputs at the sizes of the graph: samples are repeated until there are enough.

    Args:
        batched: the place of the batch among the axes of each input that has one.

    Raises:
        UsageError: an input has another size than the graph, or holds an id that its table lacks.
    """
    import numpy as np

    known, values = roles(model), {}
    for value in fed(model):
        array = arrays.get(value.name)
        if isinstance(array, np.ndarray) and value.type.HasField("tensor_type"):
            shape = tuple(axis.dim_value for axis in value.type.tensor_type.shape.dim)
            array = _repeated(array, batched.get(value.name), shape)
            if array.shape != shape:
                raise UsageError(
                    f"{source}: input {value.name!r} has shape {array.shape}, and the case makes it {shape}. Give an "
                    "array of that shape, or give the case the sizes of the array."
                )
            _check_ids(source, value.name, array, known.get(value.name, Values()))
        values[value.name] = array
    return values


def drawn(
    model: Any, case: Case, before: Iterable[Any], batched: Mapping[str, int]
) -> tuple[dict[str, Value], dict[str, str]]:
    """Return inputs drawn at random, the same on every call, and for each integer or Boolean one what was drawn.

    Args:
        before: the graph's inputs as the file has them.
        batched: the place of the batch among the axes of each input that has one.

    Raises:
        UsageError: nothing can be drawn for an input, because it is a sequence of any shape, or a map.
    """
    import numpy as np

    generator, known = np.random.default_rng(SEED), roles(model, before, batched)
    values = {value.name: _draw(generator, value, known.get(value.name, Values()), case) for value in fed(model)}
    return values, {name: str(role) for name, role in known.items()}


def _draw(generator: Any, value: Any, role: Role, case: Case) -> Value:
    import numpy as np
    import onnx

    kind = value.type.WhichOneof("value")
    if kind == "optional_type":
        return None
    if kind == "tensor_type":
        tensor = value.type.tensor_type
        shape = tuple(axis.dim_value for axis in tensor.shape.dim)
        if tensor.elem_type == onnx.TensorProto.STRING:
            return np.full(shape, TEXT)
        return draw(generator, shape, np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)), role)
    element = value.type.sequence_type.elem_type.tensor_type if kind == "sequence_type" else None
    axes = list(element.shape.dim) if element is not None and element.HasField("shape") else []
    if element is None or not axes or any(axis.dim_value < 1 for axis in axes):
        raise UsageError(
            f"{case.workload}: no shape is known for what input {value.name!r} holds (a "
            f'{(kind or "value").removesuffix("_type")}). Give the inputs: inputs="package.module:function".'
        )
    shape = tuple(axis.dim_value for axis in axes)
    own = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(element.elem_type))
    return [draw(generator, shape, own, role) for _ in range(case.batch_size)]


def _call(case: Case) -> object:
    """Call the function that gives the inputs, with batch size and sizes where it names them."""
    module_name, _, path = case.inputs.partition(":")
    try:
        function: Any = importlib.import_module(module_name)
        for part in path.split("."):
            function = getattr(function, part)
    except Exception as error:  # importing runs the user's module, which may raise anything
        raise UsageError(
            f"inputs {case.inputs!r} cannot be imported ({type(error).__name__}: {error}). Name a function that is "
            "importable from the folder in which pytest runs: package.module:function."
        ) from error
    offered = {"batch_size": case.batch_size, **case.named_sizes}
    parameters = inspect.signature(function).parameters.values()
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    named = {parameter.name for parameter in parameters}
    arguments = {name: size for name, size in offered.items() if takes_any or name in named}
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        raise UsageError(
            f"inputs {case.inputs} cannot be called: {error}. Its arguments may be {', '.join(offered)}."
        ) from error
    try:
        with seeded():
            return function(**arguments)
    except MemoryError:
        raise
    except Exception as error:
        raise UsageError(f"inputs {case.inputs} raises {reason(error)}. {to_see(case.inputs, arguments)}") from error


def _array(value: Any) -> Any:
    """Return a value of the user's as an array; a sequence as a list of arrays, None as it is."""
    import numpy as np

    if value is None or isinstance(value, np.ndarray):
        return value
    if isinstance(value, list | tuple):
        return [np.asarray(each) for each in value]
    return np.asarray(value)


def _repeated(array: Array, axis: int | None, shape: tuple[int, ...]) -> Array:
    """Return the samples of an array, repeated until there are as many as the shape has."""
    import numpy as np

    if axis is None or array.shape[axis] in (0, shape[axis]):
        return array
    repeated: Array = np.take(array, np.arange(shape[axis]) % array.shape[axis], axis)
    return repeated


def _check_ids(source: str, name: str, array: Array, role: Role) -> None:
    below = role.below if isinstance(role, Ids | Positions) else None
    if below is None or not array.size or not role.why.startswith(("index", "by its name")):
        return
    worst = max(int(array.max()), -1 - int(array.min()))
    if worst >= below:
        wrong = int(array.max()) if int(array.max()) >= below else int(array.min())
        raise UsageError(
            f"{source}: input {name!r} holds {wrong}, and the smallest table that it indexes has {below} rows "
            f"({role.why}). Give numbers from 0 to {below - 1}."
        )
