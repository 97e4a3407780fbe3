"""Find the outputs of a model whose values differ from call to call: drawn at random, or computed from a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_ngraph.errors import UsageError
from pytest_ngraph.wording import counted, first_line
from pytest_ngraph.workloads import state
from pytest_ngraph.workloads.structure import Leaf, leaves
from pytest_ngraph.workloads.tensors import flatten, to_array

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Array


class Outputs(NamedTuple):
    """What a module returns.

    Attributes:
        returned: as it is. A later call may change its tensors, if the module keeps them.
        arrays: its tensors, as the first call left them.
        random: paths of those that a second call gives other values.
        written: buffers and attributes that each call writes into.
        assigned: attributes, and what lists, dicts and objects in them hold, that each call replaces.
        state: those that each call changes, if outputs depend on what they held before.
    """

    returned: object
    arrays: list[Array]
    random: tuple[str, ...]
    written: tuple[str, ...]
    assigned: tuple[str, ...]
    state: tuple[str, ...]


def run_twice(call: Callable[[], object], module: torch.nn.Module) -> Outputs:
    """Call a module twice with the same inputs, and compare what it returns.

    Whatever makes the difference shows in the outputs: a generator of the module's own or of NumPy, a buffer, a plain
    attribute. The refusal says what PyTorch knows of it.

    Args:
        call: calls the module.
        module: the module.

    Raises:
        UsageError: all outputs differ, so that none can be verified.
    """
    import torch

    before, first = torch.get_rng_state(), state.held(module)
    returned = call()
    found = list(leaves(returned, "output"))
    arrays = [_array(leaf).copy() for leaf in found]
    draws = not torch.equal(before, torch.get_rng_state())
    second = state.held(module)
    buffers = [name for name, each in state.changed(first, second).items() if each.held.is_buffer]
    refusal = _DRAWS if draws else _KEEPS.format(buffers[0]) if buffers else _DIFFERS
    names = tuple(leaf.path for leaf in found)
    again = flatten(call()) if arrays else []
    changed = state.changed(second, state.held(module))  # the first call may fill what later ones only read
    if len(again) != len(arrays):
        raise UsageError(
            f"it returns {counted(len(arrays), 'tensor')} in a first call and {len(again)} in a second one with the "
            "same inputs, so that its outputs cannot be verified. Let forward return as many in each call."
        )
    random = changing(arrays, again, names, refusal)
    keeps = bool(changed) and not random and state.decides(module, changed, call, arrays, names)
    written = tuple(name for name, each in changed.items() if each.in_place or each.held.is_buffer)
    return Outputs(
        returned,
        arrays,
        random,
        written=written,
        assigned=tuple(name for name in changed if name not in written),
        state=tuple(changed) if keeps else (),
    )


def _array(leaf: Leaf) -> Array:
    """Return the values of a tensor. Raise `UsageError` for one of which NumPy has no like: a sparse one."""
    try:
        return to_array(leaf.tensor)
    except (TypeError, RuntimeError) as error:  # PyTorch raises either
        kind = ", ".join(str(each).removeprefix("torch.") for each in (leaf.tensor.dtype, leaf.tensor.layout))
        raise UsageError(
            f"its {leaf.path} ({kind}) cannot be compared ({first_line(error)}). Let forward return a dense tensor of "
            "a type that NumPy has, such as x.to_dense(), x.dequantize() or x.to(torch.complex64)."
        ) from error


def changing(first: Sequence[Array], second: Sequence[Array], names: Sequence[str], refusal: str) -> tuple[str, ...]:
    """Return the names of the outputs that a second call gives other values.

    Raises:
        UsageError: all outputs are such, so that none can be verified; `refusal` is its message.
    """
    from pytest_ngraph.workloads.verify import differing

    found = differing(second, first, names)
    if first and len(found) == len(first):
        raise UsageError(refusal)
    return found


_DRAWS = (
    "it draws random numbers in each call, and all of its outputs depend on them, so that none can be verified. Let "
    "forward take what it draws as an input, switch off what draws (dropout), or return an output that does not depend "
    "on it, too."
)
_KEEPS = (
    "it changes its buffer {} in each call, and all of its outputs depend on it, so that none can be verified. Let "
    "forward take the buffer as an input and return what it becomes."
)
_DIFFERS = (
    "each call with the same inputs returns other values in all of its outputs, so that none can be verified: it draws "
    "random numbers, or keeps what an earlier call has computed. Let forward take what it draws or keeps as an input, "
    "or return an output that does not depend on it, too."
)
