"""What the user's function returned, as a workload of the case's batch size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads import Built, structure
from pytest_ngraph.workloads.copies import copied
from pytest_ngraph.workloads.seeding import normal
from pytest_ngraph.workloads.tensors import flatten

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Array
    from pytest_ngraph.case import Case

IMAGE_SHAPE = (3, 224, 224)
FORMS = (
    "Return a torch.nn.Module, or a module with what it is called with: (module, tensor), (module, (args, ...)), "
    "(module, args, kwargs), (module, {name: tensor}), or pytest_ngraph.Built"
)
NEAR = 1e-3
"""Relative to the largest output."""
AT_SIZE = "Let the function take batch_size and return inputs of that size: they are used as they are"


def workload(returned: object, case: Case) -> Built:
    """Return the module and the arguments in any of the allowed return forms.

    Raises:
        UsageError: the function returned something else, or arguments that the module does not take.
    """
    import torch

    match returned:
        case torch.nn.Module() as module:
            built = Built(module, _images(case))
        case Built(module=torch.nn.Module() as module, args=(), kwargs=kwargs, as_is=as_is) if not kwargs:
            built = Built(module, _images(case), as_is=as_is)
        case Built(module=torch.nn.Module(), args=Mapping() as named, kwargs=kwargs) if not kwargs:
            built = replace(returned, args=(), kwargs=dict(named))
        case Built(module=torch.nn.Module(), args=args, kwargs=Mapping() as kwargs):
            built = replace(returned, args=_positional(args), kwargs=dict(kwargs))
        case (torch.nn.Module() as module, Mapping() as kwargs):
            built = Built(module, (), dict(kwargs))
        case (torch.nn.Module() as module, args):
            built = Built(module, _positional(args))
        case (torch.nn.Module() as module, args, Mapping() as kwargs):
            built = Built(module, _positional(args), dict(kwargs))
        case _:
            raise UsageError(f"{case.workload} returned {_described(returned)}. {FORMS}.")
    if not built.inputs:
        raise UsageError(f"{case.workload} returned {_described(returned)}, with no tensor in its inputs. {FORMS}.")
    for name, tensor in zip(built.input_names, built.inputs, strict=True):
        if tensor.is_nested or tensor.layout != torch.strided:
            kind = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
            raise UsageError(
                f"{case.workload} returned a tensor that is not dense as its input {name} ({kind}). Let forward take "
                "dense ones, padded or with indices beside the values, and make such a tensor itself."
            )
    if not any(tensor.numel() for tensor in built.inputs):
        raise UsageError(f"{case.workload} returned inputs without a value: {_shapes(built)}. Give it one sample.")
    _refuse_foreign_arguments(built, case)
    return built


def _shapes(built: Built) -> str:
    named = zip(built.input_names, built.inputs, strict=True)
    return ", ".join(f"{name} is {'x'.join(map(str, tensor.shape))}" for name, tensor in named)


def _images(case: Case) -> tuple[torch.Tensor]:
    return (normal(case.batch_size, *IMAGE_SHAPE),)


def _positional(args: object) -> tuple[Any, ...]:
    """Return the positional arguments: a tuple or a list is all of them, anything else is the only one."""
    return tuple(args) if type(args) in (tuple, list) else (args,)  # type: ignore[arg-type]  # a named tuple is one


def _refuse_foreign_arguments(built: Built, case: Case) -> None:
    """Raise `UsageError` for arguments that `forward` does not take."""
    signature = built.signature
    if built.module._forward_pre_hooks:  # they may change the arguments
        return
    try:
        signature.bind(*built.args, **built.kwargs)
    except TypeError as error:
        step = f"Give it the arguments of {type(built.module).__name__}.forward{signature}"
        if built.kwargs and not built.args:
            step += "; for a dict as its only argument, return (module, (dict,))"
        raise UsageError(f"{case.workload} does not fit its inputs: {error}. {step}.") from error


def _described(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(type(part).__name__ for part in value)})"
    return type(value).__name__


def at_batch_size(built: Built, case: Case, *, made_for_it: bool) -> Built:
    """Return the workload with its samples repeated until there are as many as the case's batch size.

    A tensor has its samples along its first axis, but one in a list may be a sample itself. Where that leaves open what
    the samples are, the function must have made its inputs for this batch size. Such inputs are used as they are, also
    where no axis has this size: a graph has as many nodes as its samples together. Only single samples are repeated,
    for functions that need the batch size elsewhere.

    Args:
        built: the workload as the function returned it.
        case: the case.
        made_for_it: the function was given the batch size.

    Raises:
        UsageError: it is unclear which tensors, or which of their axes, are to be repeated; or rows belong together,
            such as the steps of a sequence, and are more or fewer than the batch size.
    """
    size = case.batch_size
    lists = list(_lists_of_tensors((built.args, built.kwargs)))
    named = zip(built.input_names, built.inputs, strict=True)
    samples = {name: len(tensor) for name, tensor in named if tensor.ndim and len(tensor)}
    are_single = set(samples.values()) == {1} and not any(size in tensor.shape for tensor in built.inputs)
    if made_for_it and (lists or not are_single):
        return built
    if all(length == size for length in samples.values()) or (lists and all(len(each) == size for each in lists)):
        return built
    if lists:
        raise UsageError(
            f"{case.workload} returned inputs in a list, which may be samples or not, so that it is unclear what to "
            f"repeat to batch size {size}. {AT_SIZE}."
        )
    if len(set(samples.values())) > 1 and set(samples.values()) != {1, size}:
        listing = ", ".join(f"{length} in {name}" for name, length in samples.items())
        raise UsageError(
            f"{case.workload} returned inputs whose first axes differ ({listing}), so that it is unclear which are "
            f"samples to repeat to batch size {size}. {AT_SIZE}."
        )
    name, length = max(samples.items(), key=lambda item: item[1], default=("", 0))
    if (length > size and not _are_samples(built, length)) or (1 < length < size and _belong_together(built, length)):
        what = "None can be left out" if length > size else "They cannot be repeated"
        raise UsageError(
            f"{case.workload} returned {length} rows in its input {name}, and the batch size is {size}. {what}: a row "
            f"alone gives other outputs than among the others, so that the first axis may be another one than the "
            f"batch. Use batch_size={length}, or return one sample. {AT_SIZE}."
        )
    return built.with_inputs(_repeated(tensor, size) for tensor in built.inputs)


def _are_samples(built: Built, length: int) -> bool:
    """Return whether rows are samples: the first and the last one alone give what they give among all."""
    every, first, last = _outputs(built, slice(None), slice(1), slice(length - 1, length)) or ([], [], [])
    return bool(every) and all(
        whole.shape[:1] == (length,) and _is_near(one, whole[:1]) and _is_near(other, whole[-1:])
        for whole, one, other in zip(every, first, last, strict=True)
    )


def _belong_together(built: Built, length: int) -> bool:
    """Return whether rows are surely no samples: alone, they give something else than among all.

    Where an output has a row of each on any axis, these say so. Otherwise those do that have no such axis.
    """
    found = _outputs(built, slice(None), slice(None), slice(1), slice(length - 1, length))
    if found is None:
        return False
    of_rows, of_all = [], []
    for whole, again, one, other in zip(*found, strict=True):
        if not _is_near(whole, again):  # drawn, or from a state
            continue
        if axes := [axis for axis in range(whole.ndim) if _has_rows(whole.shape, one.shape, axis, length)]:
            of_rows.append(_is_near(one, whole.take([0], axes[0])) and _is_near(other, whole.take([-1], axes[0])))
        elif whole.ndim and whole.shape == one.shape == other.shape:
            of_all.append(_is_near(one, whole) and _is_near(other, whole))
    return not all(of_rows or of_all)


def _has_rows(shape: tuple[int, ...], of_one: tuple[int, ...], axis: int, length: int) -> bool:
    """Return whether an output has a row of each row of the inputs on this axis, by its shape for all and for one."""
    return shape[axis] == length and of_one == (*shape[:axis], 1, *shape[axis + 1 :])


def _outputs(built: Built, *selections: slice) -> list[list[Array]] | None:
    """Return what the module gives for each of these rows of its inputs; None where it cannot be asked."""
    import torch

    parameters = {id(each): each for each in built.module.parameters()}
    if any(map(torch.nn.parameter.is_lazy, parameters.values())):
        return None
    try:
        module = copied(built.module, parameters)  # it may keep a state
        module = module if built.as_is else module.eval()
        with torch.no_grad():
            of = [_of_rows(built, rows) for rows in selections]
            outputs = [flatten(module(*own.args, **own.kwargs)) for own in of]
    except Exception:  # the user's code may raise anything
        return None
    return outputs if len(set(map(len, outputs))) == 1 else None


def _of_rows(built: Built, rows: slice) -> Built:
    """Return the workload with these rows of every input that has several."""
    return built.with_inputs(each[rows] if each.ndim and len(each) > 1 else each for each in built.inputs)


def _is_near(one: Array, other: Array) -> bool:
    """Return whether outputs are equal but for rounding: other kernels may compute other numbers of rows."""
    import numpy as np

    if one.shape != other.shape or one.dtype.kind not in "fc":
        return np.array_equal(one, other)
    return np.allclose(one, other, rtol=NEAR, atol=NEAR * np.abs(other).max(initial=0), equal_nan=True)


def _lists_of_tensors(value: object) -> Iterator[list[object]]:
    import torch

    if isinstance(value, list) and any(isinstance(each, torch.Tensor) for each in value):
        yield value
    for _, part in structure.parts(value):
        yield from _lists_of_tensors(part)


def _repeated(tensor: torch.Tensor, batch_size: int) -> torch.Tensor:
    """Return the tensor's samples, repeated until there are `batch_size`."""
    if tensor.ndim == 0 or len(tensor) in (0, batch_size):
        return tensor
    times = -(-batch_size // len(tensor))
    return tensor.repeat(times, *(1 for _ in tensor.shape[1:]))[:batch_size].contiguous()
