"""Find the outputs of a module whose values it draws in each call, such as samples of a latent space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads.structure import leaves
from pytest_ngraph.workloads.tensors import flatten

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Array


def run_twice_if_random(call: Callable[[], object]) -> tuple[object, tuple[str, ...]]:
    """Call a module and return its outputs, and the paths of those that a second call gives other values.

    The second call is made only where the first has drawn random numbers on the CPU.

    Raises:
        UsageError: all outputs are such, so that none can be verified.
    """
    import torch

    from pytest_ngraph.workloads.verify import differing

    before = torch.get_rng_state()
    outputs = call()
    if torch.equal(before, torch.get_rng_state()):
        return outputs, ()
    names = tuple(leaf.path for leaf in leaves(outputs, "output"))
    first: Sequence[Array] = flatten(outputs)
    random = differing(flatten(call()), first, names)
    if first and len(random) == len(first):
        raise UsageError(
            "it draws random numbers in each call, and all of its outputs depend on them, so that none can be "
            "verified. Let forward take what it draws as an input, switch off what draws (dropout), or return an "
            "output that does not depend on it, too."
        )
    return outputs, random
