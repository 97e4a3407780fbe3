"""Find what a module writes into in each call, and whether its outputs depend on what was there before."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_ngraph.workloads import structure
from pytest_ngraph.workloads.tensors import flatten

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Array


class Held(NamedTuple):
    """A buffer, or a tensor that is an attribute, or that a list, dict or object in an attribute holds.

    Attributes:
        owner: the part of the module that holds it.
        attribute: the name there of the buffer or attribute.
        tensor: the tensor.
        version: how often it was changed in place, as far as PyTorch counts it.
        is_buffer: whether it is a buffer.
    """

    owner: torch.nn.Module
    attribute: str
    tensor: torch.Tensor
    version: int
    is_buffer: bool


class Written(NamedTuple):
    """What a call has written into.

    Attributes:
        held: as the call left it.
        in_place: whether it is the same tensor as before.
    """

    held: Held
    in_place: bool


def held(module: torch.nn.Module) -> dict[str, Held]:
    """Return what the module holds beside its parameters, by name: `norm.mean`, `cache[0]`, `kv['keys']`."""
    import torch

    of_every_module = vars(torch.nn.Module()).keys()
    found: dict[str, Held] = {}
    for path, part in module.named_modules():
        attributes = {name: value for name, value in vars(part).items() if name not in of_every_module}
        buffers = dict(part.named_buffers(recurse=False))
        for name, value in (attributes | buffers).items():
            for leaf in structure.held(value, f"{path}.{name}".lstrip("."), inside=True):
                version = 0 if leaf.tensor.is_inference() else leaf.tensor._version
                found[leaf.path] = Held(part, name, leaf.tensor, version, name in buffers)
    return found


def changed(before: Mapping[str, Held], after: Mapping[str, Held]) -> dict[str, Written]:
    """Return what was written into between two moments, by name."""
    found: dict[str, Written] = {}
    for name, now in after.items():
        in_place = name in before and now.tensor is before[name].tensor
        if not (in_place and now.version == before[name].version):
            found[name] = Written(now, in_place)
    return found


def decides(
    module: torch.nn.Module,
    written: Mapping[str, Written],
    call: Callable[[], object],
    outputs: Sequence[Array],
    names: Sequence[str],
) -> bool:
    """Return whether a call gives other outputs where what it writes into held other values before.

    Afterwards the module holds again what it did.
    """
    from pytest_ngraph.workloads.verify import differing

    in_place = [each.held.tensor for each in written.values() if each.in_place]
    kept = [tensor.detach().clone() for tensor in in_place]
    replaced = [each.held for each in written.values() if not each.in_place]
    attributes = [(each.owner, each.attribute, getattr(each.owner, each.attribute)) for each in replaced]
    try:
        _replace(module, replaced)
        _fill(in_place, map(_other_values, in_place))
        return bool(differing(flatten(call()), outputs, names))
    except MemoryError:
        raise
    except Exception:  # it cannot compute with other values, so that it reads them
        return True
    finally:
        _fill(in_place, kept)
        for owner, name, value in attributes:
            setattr(owner, name, value)


def _fill(tensors: Iterable[torch.Tensor], values: Iterable[torch.Tensor]) -> None:
    """Write values into tensors: what a module writes into in place may be seen elsewhere, too."""
    import torch

    with torch.no_grad():
        for tensor, other in zip(tensors, values, strict=True):
            tensor.copy_(other)


def _replace(module: torch.nn.Module, replaced: Iterable[Held]) -> None:
    """Give attributes copies that hold other values in place of these tensors, which may be inputs or outputs, too."""
    others = {id(each.tensor): _other_values(each.tensor) for each in replaced}
    same = [*module.modules(), *module.parameters(), *(each.tensor for each in held(module).values())]
    instead = {id(each): each for each in same} | others
    for owner, name in dict.fromkeys((each.owner, each.attribute) for each in replaced):
        setattr(owner, name, copy.deepcopy(getattr(owner, name), dict(instead)))


def _other_values(tensor: torch.Tensor) -> torch.Tensor:
    """Return finite values, such as variances may have, that differ from those of the tensor and from each other."""
    import torch

    if tensor.dtype == torch.bool:
        return ~tensor
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor + 1
    drawn = torch.rand(tensor.shape, generator=torch.Generator().manual_seed(0))
    return (1 + drawn).to(tensor)
