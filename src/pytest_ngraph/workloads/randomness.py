"""Find the outputs of a model whose values differ from call to call: drawn at random, or computed from a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_ngraph.errors import UsageError
from pytest_ngraph.wording import counted, first_line
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
    """

    returned: object
    arrays: list[Array]
    random: tuple[str, ...]


def run_twice(call: Callable[[], object], module: torch.nn.Module) -> Outputs:
    """Call a module twice with the same inputs, and compare what it returns.

    Whatever makes the difference shows in the outputs: a generator of the module's own or of NumPy, a buffer, a plain
    attribute. What PyTorch can tell of it goes into the refusal.

    Args:
        call: calls the module.
        module: the module.

    Raises:
        UsageError: all outputs differ, so that none can be verified.
    """
    import torch

    before, state = torch.get_rng_state(), _state(module)
    returned = call()
    found = list(leaves(returned, "output"))
    arrays = [_array(leaf).copy() for leaf in found]
    draws = not torch.equal(before, torch.get_rng_state())
    changed = [name for name, now in _state(module).items() if not (name in state and now.is_still(state[name]))]
    refusal = _DRAWS if draws else _KEEPS.format(changed[0]) if changed else _DIFFERS
    names = tuple(leaf.path for leaf in found)
    again = flatten(call()) if arrays else []
    if len(again) != len(arrays):
        raise UsageError(
            f"it returns {counted(len(arrays), 'tensor')} in a first call and {len(again)} in a second one with the "
            "same inputs, so that its outputs cannot be verified. Let forward return as many in each call."
        )
    return Outputs(returned, arrays, changing(arrays, again, names, refusal))


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


class _Buffer(NamedTuple):
    """A buffer, and how often it was changed in place, as far as PyTorch counts it."""

    tensor: torch.Tensor
    version: int

    def is_still(self, before: _Buffer) -> bool:
        return self.tensor is before.tensor and self.version == before.version


def _state(module: torch.nn.Module) -> dict[str, _Buffer]:
    """Return the module's buffers, by name."""
    buffers = dict(module.named_buffers())
    return {name: _Buffer(each, 0 if each.is_inference() else each._version) for name, each in buffers.items()}


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
