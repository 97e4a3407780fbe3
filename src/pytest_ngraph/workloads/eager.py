"""Call a workload in eager PyTorch: what it returns is the reference, and what cannot be one is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads import Built, refusals
from pytest_ngraph.workloads.randomness import Outputs, run_twice
from pytest_ngraph.workloads.vocabulary import unknown_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import torch

    from pytest_ngraph.case import Case

Result = TypeVar("Result")


def eager_outputs(built: Built, case: Case) -> Outputs:
    """Return the module's outputs, and the paths of those whose values differ from call to call.

    Raises:
        CallError: the call raises an error.
        UsageError: they cannot be compared, or a call cannot be repeated.
    """
    names, versions = built.input_names, [tensor._version for tensor in built.inputs]
    held: dict[str, torch.Tensor] | None = None

    def call() -> object:
        nonlocal held
        returned = built.module(*built.args, **built.kwargs)
        _refuse_changed(built, names, versions)
        before, held = held, {path: tensor.clone() for path, tensor in built.held.items()}
        if before is not None:  # the first call may fill what later ones only read
            _refuse_changed_objects(before, held)
        return returned

    try:
        outputs = _without_gradients_if_possible(lambda: run_twice(call, built.module), built)
    except UsageError as error:
        raise UsageError(f"{case.workload}: {error}") from error
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        if isinstance(error, IndexError) and (problem := unknown_id(built)):
            raise UsageError(f"{case.workload}: {problem}.") from error
        raise refusals.CallError(case.workload, built, error) from error
    if not outputs.arrays:
        raise UsageError(
            f"{case.workload} returns {type(outputs.returned).__name__}, which contains no tensor. Return a tensor, or "
            "tensors in tuples, lists, dicts and dataclasses, so that outputs can be verified."
        )
    return outputs


def _without_gradients_if_possible(run: Callable[[], Outputs], built: Built) -> Outputs:
    """Return what `run` returns, with gradients only where it needs them."""
    import torch

    def without() -> Outputs:
        # Not inference mode: a module may keep tensors of its first call, and tensors of that mode cannot be exported.
        with torch.no_grad():
            return run()

    def with_gradients() -> Outputs:
        try:
            with torch.enable_grad():
                return run()
        finally:
            for tensor in built.inputs:
                if tensor.is_leaf:
                    tensor.requires_grad_(False)

    return first_that_runs(without, with_gradients)


def first_that_runs(*attempts: Callable[[], Result]) -> Result:
    """Return what the first of these calls returns that raises no `RuntimeError`. If each raises one, raise the first.

    A call in a mode without gradients raises it where it needs them.
    """
    first: RuntimeError | None = None
    for attempt in attempts:
        try:
            return attempt()
        except RuntimeError as error:
            first = first or error
    assert first is not None
    raise first from None


def _refuse_changed(built: Built, names: Sequence[str], versions: Sequence[int]) -> None:
    """Raise `UsageError` if a call has changed its inputs.

    Args:
        names: the names of its inputs before.
        versions: how often each had been changed in place before.
    """
    if names != built.input_names:
        raise UsageError(
            "it adds to the dicts and lists that it is called with, or removes from them, so that each call would "
            "start from what the call before has left. Work on a copy: batch = dict(batch)."
        )
    changed = [name for name, old, new in zip(names, versions, built.inputs, strict=True) if new._version != old]
    if changed:
        raise UsageError(
            f"it changes its input {changed[0]} in place, so that each call would start from the changed values of the "
            "call before. Work on a copy: x = x.clone()."
        )


def _refuse_changed_objects(before: Mapping[str, torch.Tensor], after: Mapping[str, torch.Tensor]) -> None:
    """Raise `UsageError` if a call has changed what objects among its arguments hold, such as a cache."""
    for path, tensor in after.items():
        if path not in before or not _is_same(tensor, before[path]):
            raise UsageError(
                f"it changes {path}, which an object among its arguments holds, so that each call would start from "
                "what the call before has left. Let forward take the tensors, and make a new object of copies of them."
            )


def _is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors have the same type, shape and values; NaN is like NaN."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())
