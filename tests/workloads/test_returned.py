from __future__ import annotations

from collections import UserDict
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import nn

from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads import Built
from pytest_ngraph.workloads.returned import at_batch_size, workload

X = torch.ones(1, 4)


class Net(nn.Module):
    def forward(self, x: Any, y: Any = None, *, mask: Any = None, scale: float = 1.0) -> Any:
        return x


@dataclass
class Batch:
    x: torch.Tensor
    name: str = ""


def _case(batch_size: int = 3) -> Case:
    return Case(workload="nets:f", compiler="identity", batch_size=batch_size)


def _sized(built: Built, batch_size: int = 3, *, made_for_it: bool = False) -> list[tuple[int, ...]]:
    sized = at_batch_size(built, _case(batch_size), made_for_it=made_for_it)
    return [tuple(tensor.shape) for tensor in sized.inputs]


@pytest.mark.parametrize(
    ("rest", "args", "kwargs"),
    [
        ((X,), (X,), {}),
        (((X, X),), (X, X), {}),
        (([X, X],), (X, X), {}),
        (
            (
                (
                    X,
                    None,
                ),
            ),
            (X, None),
            {},
        ),
        (({"x": X, "scale": 2.0},), (), {"x": X, "scale": 2.0}),
        ((({"ids": X},),), ({"ids": X},), {}),
        (([[X]],), ([X],), {}),
        ((Batch(X, "a"),), (Batch(X, "a"),), {}),
        (((X,), {"mask": X}), (X,), {"mask": X}),
        ((X, {"scale": 2.0}), (X,), {"scale": 2.0}),
        (((), {"x": X}), (), {"x": X}),
    ],
    ids=str,
)
def test_a_module_is_returned_with_its_arguments(rest: tuple[Any, ...], args: Any, kwargs: Any) -> None:
    net = Net()
    built = workload((net, *rest), _case())
    assert built.module is net
    assert str(built.args) == str(args)
    assert str(built.kwargs) == str(kwargs)


@pytest.mark.parametrize(
    ("returned", "args", "kwargs"),
    [
        (Built(Net(), X), (X,), {}),  # type: ignore[arg-type]  # forms that are allowed without it, too
        (Built(Net(), [X, X]), (X, X), {}),  # type: ignore[arg-type]
        (Built(Net(), (), UserDict(x=X)), (), {"x": X}),  # type: ignore[arg-type]
        (Built(Net(), {"x": X}), (), {"x": X}),  # type: ignore[arg-type]
    ],
    ids=["tensor", "list", "mapping", "names"],
)
def test_what_is_built_holds_arguments_in_the_same_forms(returned: Built, args: Any, kwargs: Any) -> None:
    built = workload(replace(returned, as_is=True), _case())
    assert built.as_is
    assert str(built.args) == str(args)
    assert str(built.kwargs) == str(kwargs)


def test_a_module_alone_gets_images() -> None:
    net = Net()
    for returned in (net, Built(net)):
        (images,) = workload(returned, _case()).inputs
        assert images.shape == (3, 3, 224, 224)


def test_inputs_are_known_by_the_parameters_of_forward() -> None:
    built = Built(Net(), ({"ids": X, "more": [X]}, X), {"mask": (X,), "scale": 2.0})
    assert built.input_names == ("x['ids']", "x['more'][0]", "y", "mask[0]")
    assert Built(nn.Sequential(), (X,)).input_names == ("input",)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, r"nets:f returned NoneType\. Return a torch\.nn\.Module, or a module with what it is called with: \("),
        ((X, Net()), r"returned \(Tensor, Net\)\."),
        ((Net(), 3), r"returned \(Net, int\), with no tensor in its inputs\."),
        ((Net(), X, X), r"returned \(Net, Tensor, Tensor\)\."),
        (
            (Net(), {"ids": X}),
            r"does not fit its inputs: missing a required argument: 'x'\. .*forward\(x.*return \(module, \(dict,\)\)",
        ),
        (
            (Net(), (X,), {"masks": X}),
            r"does not fit its inputs: got an unexpected keyword argument 'masks'\. Give it .* of Net\.forward\(x",
        ),
        ((Net(), (X, X, X)), "does not fit its inputs: too many positional arguments"),
    ],
)
def test_anything_else_is_refused_with_the_forms(returned: object, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refusal:
        workload(returned, _case())
    assert "\n" not in str(refusal.value)


def test_samples_are_repeated_wherever_they_are() -> None:
    built = Built(Net(), ({"ids": X, "scale": torch.tensor(2.0)},), {"mask": torch.ones(1, 2, 2)})
    assert _sized(built) == [(3, 4), (), (3, 2, 2)]
    assert _sized(Built(Net(), (torch.ones(2, 4), torch.ones(2)))) == [(3, 4), (3,)]


class Points(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.max(0, keepdim=True).values


class Steps(nn.Module):
    """Its outputs alone look as if rows were samples: each step depends on those before it."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.lstm(x)[0]
        return outputs


class Tokens(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(x, x, x)


@pytest.mark.parametrize(
    ("module", "shape"),
    [(Steps(), (16, 1, 8)), (nn.LSTM(8, 8), (16, 1, 8)), (Points(), (64, 3)), (Tokens(), (12, 8))],
    ids=["steps", "lstm", "points", "tokens"],
)
def test_rows_that_belong_together_are_neither_left_out_nor_repeated(module: nn.Module, shape: tuple[int, ...]) -> None:
    for batch_size, said in (
        (1, "None can be left out"),
        (3, "None can be left out"),
        (100, "They cannot be repeated"),
    ):
        with pytest.raises(
            UsageError,
            match=rf"returned {shape[0]} rows in its input [a-z]+, and the batch size is {batch_size}\. {said}: "
            rf".* Use batch_size={shape[0]}, or return one sample\. Let the function take batch_size",
        ) as refusal:
            _sized(Built(module, (torch.randn(*shape),)), batch_size)
        assert "\n" not in str(refusal.value)


class Routed(nn.Module):
    """Returns how much all samples together use of each part, and numbers that it draws, beside what each gives."""

    def forward(self, x: torch.Tensor) -> Any:
        return x.softmax(1), x.softmax(1).sum(0), x.mean(), torch.rand_like(x)


@pytest.mark.parametrize(
    ("module", "shape"),
    [(nn.LSTM(8, 8, batch_first=True), (2, 16, 8)), (Routed(), (2, 8)), (nn.LazyLinear(3), (2, 8))],
    ids=["lstm", "routed", "lazy"],
)
def test_several_samples_are_repeated(module: nn.Module, shape: tuple[int, ...]) -> None:
    assert _sized(Built(module, (torch.randn(*shape),)), 8) == [(8, *shape[1:])]


@pytest.mark.parametrize("batch_size", [1, 3, 12])
def test_samples_are_left_out(batch_size: int) -> None:
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(), nn.Flatten(), nn.Linear(144, 2))
    built = Built(network, (torch.randn(8, 3, 8, 8),))
    sized = at_batch_size(built, _case(batch_size), made_for_it=False)
    assert torch.equal(sized.inputs[0], built.inputs[0].repeat(2, 1, 1, 1)[:batch_size])
    assert network.training, "the user may keep it"


def test_a_tensor_at_the_batch_size_stays_beside_single_samples() -> None:
    assert _sized(Built(Net(), (X, torch.ones(3, 2)))) == [(3, 4), (3, 2)]


def test_an_axis_that_may_be_no_batch_has_to_be_made_for_it() -> None:
    built = Built(Net(), (torch.ones(1, 8), torch.ones(8, 8)))
    for batch_size in (1, 3):
        with pytest.raises(
            UsageError, match=rf"first axes differ \(1 in x, 8 in y\).* to batch size {batch_size}\. Let"
        ):
            _sized(built, batch_size)
    assert _sized(Built(Net(), (torch.ones(3, 8), torch.ones(8, 8))), made_for_it=True) == [(3, 8), (8, 8)]
    assert _sized(Built(Net(), (torch.ones(8, 3, 2),)), made_for_it=True) == [(8, 3, 2)], "a sequence first"
    assert _sized(Built(Net(), (torch.ones(3, 9, 9),)), 1, made_for_it=True) == [(3, 9, 9)], "one image"


def test_inputs_that_were_made_for_the_batch_size_are_used_as_they_are() -> None:
    tokens = Built(Net(), (torch.ones(3 * 197, 8),))
    graph = Built(Net(), (torch.ones(3 * 30, 16), torch.ones(2, 3 * 64, dtype=torch.int64)))
    pyramid = Built(Net(), ([torch.ones(6, 4), torch.ones(6, 2)],))
    for built in (tokens, graph, pyramid):
        assert _sized(built, made_for_it=True) == [tuple(tensor.shape) for tensor in built.inputs]


def test_images_in_a_list_are_samples() -> None:
    image = torch.ones(3, 8, 8)
    assert _sized(Built(Net(), ([image],)), 1) == [(3, 8, 8)]
    assert _sized(Built(Net(), ([image] * 2,)), 2, made_for_it=True) == [(3, 8, 8)] * 2
    with pytest.raises(UsageError, match=r"in a list, which may be samples or not.* to batch size 2. Let the function"):
        _sized(Built(Net(), ([image],)), 2)


def test_a_function_that_ignores_the_batch_size_gets_its_samples_repeated() -> None:
    assert _sized(Built(Net(), (torch.ones(1, 2),)), made_for_it=True) == [(3, 2)]
