"""Find what a module writes into in each call, and whether its outputs depend on what was there before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_ngraph.workloads.tensors import flatten

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Array


class Held(NamedTuple):
    """A buffer, or a tensor that is a plain attribute.

    Attributes:
        owner: the part of the module that holds it.
        attribute: its name there.
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
    """Return what the module holds beside its parameters, by name."""
    import torch

    found: dict[str, Held] = {}
    for path, part in module.named_modules():
        attributes = {name: value for name, value in vars(part).items() if isinstance(value, torch.Tensor)}
        buffers = dict(part.named_buffers(recurse=False))
        for name, tensor in (attributes | buffers).items():
            version = 0 if tensor.is_inference() else tensor._version
            found[f"{path}.{name}".lstrip(".")] = Held(part, name, tensor, version, name in buffers)
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
    written: Mapping[str, Written], call: Callable[[], object], outputs: Sequence[Array], names: Sequence[str]
) -> bool:
    """Return whether a call gives other outputs where what it writes into held other values before.

    Afterwards the module holds again what it did.
    """
    from pytest_ngraph.workloads.verify import differing

    kept = [each.held.tensor.detach().clone() for each in written.values()]
    try:
        for each in written.values():
            _put(each, _other_values(each.held.tensor))
        return bool(differing(flatten(call()), outputs, names))
    except MemoryError:
        raise
    except Exception:  # it cannot compute with other values, so that it reads them
        return True
    finally:
        for each, values in zip(written.values(), kept, strict=True):
            _put(each, values)


def _put(written: Written, values: torch.Tensor) -> None:
    """Have the module hold these values: what it writes into in place may be seen elsewhere, too."""
    import torch

    if not written.in_place:
        setattr(written.held.owner, written.held.attribute, values)
        return
    with torch.no_grad():
        written.held.tensor.copy_(values)


def _other_values(tensor: torch.Tensor) -> torch.Tensor:
    """Return finite values, such as variances may have, that differ from those of the tensor and from each other."""
    import torch

    if tensor.dtype == torch.bool:
        return ~tensor
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor + 1
    drawn = torch.rand(tensor.shape, generator=torch.Generator().manual_seed(0))
    return (1 + drawn).to(tensor)
