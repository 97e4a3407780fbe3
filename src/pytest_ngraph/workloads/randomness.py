"""Find the outputs of a model whose values differ from call to call: drawn at random, or computed from a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads.structure import leaves
from pytest_ngraph.workloads.tensors import flatten

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Array


def run_twice_if_changing(
    call: Callable[[], object], state: Mapping[str, torch.Tensor]
) -> tuple[object, tuple[str, ...]]:
    """Call a module and return its outputs, and the paths of those that a second call gives other values.

    The second call is made only where the first has drawn random numbers on the CPU, or has changed the state.

    Args:
        call: calls the module.
        state: its buffers, by name.

    Raises:
        UsageError: all outputs are such, so that none can be verified.
    """
    import torch

    before, versions = torch.get_rng_state(), {name: tensor._version for name, tensor in state.items()}
    outputs = call()
    draws = not torch.equal(before, torch.get_rng_state())
    changed = [name for name, tensor in state.items() if tensor._version != versions[name]]
    if not draws and not changed:
        return outputs, ()
    names = tuple(leaf.path for leaf in leaves(outputs, "output"))
    refusal = _DRAWS if draws else _KEEPS.format(changed[0])
    return outputs, changing(flatten(outputs), flatten(call()), names, refusal)


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
