from __future__ import annotations

import collections
import dataclasses
import types
from typing import Any, NamedTuple

import pytest
import torch

from pytest_ngraph.workloads.structure import held, leaves, tensors_in, with_tensors


@dataclasses.dataclass(frozen=True)
class Batch:
    ids: torch.Tensor
    scale: float
    mask: torch.Tensor | None = None


class Pair(NamedTuple):
    first: torch.Tensor
    second: object


ONE, TWO, THREE = (torch.full((1,), float(value)) for value in (1, 2, 3))


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        (ONE, ["output"]),
        ((ONE, [TWO, None]), ["output[0]", "output[1][0]"]),
        ({"b": ONE, "a": {1: TWO}}, ["output['b']", "output['a'][1]"]),
        (Batch(ONE, 0.5, TWO), ["output.ids", "output.mask"]),
        (Batch(ONE, 0.5), ["output.ids"]),
        (Pair(ONE, (TWO, "text")), ["output.first", "output.second[0]"]),
        (collections.UserDict(a=ONE, b=3), ["output['a']"]),
        (collections.OrderedDict(a=ONE), ["output['a']"]),
        (types.SimpleNamespace(a=ONE), []),
        (torch.Size([2, 3]), []),
        ((), []),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_tensor_has_its_path(value: object, paths: list[str]) -> None:
    assert [leaf.path for leaf in leaves(value, "output")] == paths


@pytest.mark.parametrize(
    "value",
    [
        ONE,
        (ONE, [TWO, None, 3]),
        {"b": ONE, "a": {1: TWO}},
        Batch(ONE, 0.5, TWO),
        Pair(ONE, (TWO, "text")),
        collections.UserDict(a=ONE, b=3),
        {"batch": [Batch(ONE, 0.5), Pair(TWO, None)]},
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_tensors_take_their_places_in_a_copy(value: Any) -> None:
    before = tensors_in(value)
    other = with_tensors(value, [-tensor for tensor in before])
    assert type(other) is type(value)
    assert [tensor.item() for tensor in tensors_in(other)] == [-tensor.item() for tensor in before]
    assert all(old is new for old, new in zip(before, tensors_in(value), strict=True))
    assert [leaf.path for leaf in leaves(other)] == [leaf.path for leaf in leaves(value)]


def test_what_is_no_tensor_stays() -> None:
    mode = object()
    other = with_tensors({"x": ONE, "mode": mode, "sizes": torch.Size([2])}, [TWO])
    assert other == {"x": TWO, "mode": mode, "sizes": torch.Size([2])}


def test_what_a_library_registered_is_opened() -> None:
    from torch.utils import _pytree

    class Own:
        def __init__(self, x: torch.Tensor) -> None:
            self.x = x

    _pytree.register_pytree_node(Own, lambda own: ([own.x], None), lambda parts, _: Own(*parts))
    assert [leaf.path for leaf in leaves({"own": Own(ONE)}, "x")] == ["x['own'][0]"]
    assert with_tensors(Own(ONE), [TWO]).x is TWO


def test_what_an_object_holds_has_its_path_once() -> None:
    own = types.SimpleNamespace(layers=[{"keys": ONE}], itself=None, of=torch.nn.Linear(1, 1), name="cache")
    own.itself = own
    found = list(held({"x": THREE, "cache": (own, own)}, "input"))
    assert [leaf.path for leaf in found] == ["input['cache'][0].layers[0]['keys']"]
    assert found[0].tensor is ONE


def test_what_an_attribute_holds_has_its_path() -> None:
    cache = types.SimpleNamespace(keys=TWO)
    graph = torch.fx.symbolic_trace(torch.nn.Linear(1, 1)).graph
    value = {"layers": [ONE, cache], "scale": THREE, "name": "cache", "graph": graph}
    paths = [leaf.path for leaf in held(value, "kept", inside=True)]
    assert paths == ["kept['layers'][0]", "kept['layers'][1].keys", "kept['scale']"]


def test_objects_in_a_long_chain_are_opened() -> None:
    chain = types.SimpleNamespace(value=ONE, following=None)
    for _ in range(5000):
        chain = types.SimpleNamespace(following=chain)
    assert len(list(held(chain))) == 1
