"""Modules that their authors have compiled, as a whole or in part, run in eager PyTorch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import pytest
import torch
from torch import nn

from pytest_ngraph.case import Case
from pytest_ngraph.workloads import build
from pytest_ngraph.workloads.uncompiled import uncompiled

RUNS: list[torch.fx.GraphModule] = []


def _backend(graph: torch.fx.GraphModule, _: object) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        RUNS.append(graph)
        return graph.forward(*args)

    return run


compiled: Callable[..., Any] = partial(torch.compile, backend=_backend)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.second(self.norm(self.first(x)).relu())
        return result


def _decorated(forward: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(forward)
    def run(*args: Any) -> Any:
        return forward(*args)

    return run


class Decorated(Net):
    forward = _decorated(Net.forward)


class Compiled(Net):
    forward = compiled(Net.forward)


def whole() -> nn.Module:
    return compiled(Net())  # type: ignore[no-any-return]


def in_place() -> nn.Module:
    net = Net()
    net.compile(backend=_backend)
    return net


def forward() -> nn.Module:
    net = Net()
    net.forward = compiled(net.forward)  # type: ignore[method-assign]
    return net


def forward_with_a_decorator() -> nn.Module:
    net = Decorated()
    net.forward = compiled(net.forward)  # type: ignore[method-assign]
    return net


def forward_of_a_layer() -> nn.Module:
    net = Net()
    net.first.forward = compiled(net.first.forward)  # type: ignore[method-assign]
    return net


def part() -> nn.Module:
    net = Net()
    net.second = compiled(net.second)
    return net


def inside() -> nn.Module:
    return nn.Sequential(whole(), in_place(), forward())


def decorated() -> nn.Module:
    return Compiled()


FORMS = [whole, in_place, forward, forward_with_a_decorator, forward_of_a_layer, part, inside, decorated]
KEPT = inside().eval()


def kept() -> tuple[nn.Module, torch.Tensor]:
    return KEPT, torch.rand(2, 4)


@pytest.mark.parametrize("form", FORMS)
def test_no_part_is_compiled_and_the_original_stays_so(form: Callable[[], nn.Module]) -> None:
    original, x = form().eval(), torch.rand(2, 4)
    module = uncompiled(original)
    RUNS.clear()
    with torch.no_grad():
        outputs = module(x)
        assert not RUNS
        assert torch.equal(original(x), outputs)
        assert RUNS


@pytest.mark.parametrize("form", FORMS)
def test_a_copy_has_the_parameters_of_the_original_and_the_names_without_wrappers(
    form: Callable[[], nn.Module],
) -> None:
    original = form()
    module = uncompiled(original)
    assert {id(each) for each in module.parameters()} == {id(each) for each in original.parameters()}
    assert not any("_orig_mod" in name for name in module.state_dict())


def test_a_decorator_above_stays() -> None:
    class Above(Net):
        forward = _decorated(compiled(Net.forward))

    module = Above().eval()
    assert uncompiled(module) is module


def test_a_module_without_any_is_returned_itself() -> None:
    module = Decorated()
    assert uncompiled(module) is module


def test_what_cannot_be_copied_is_changed_itself() -> None:
    module = in_place().eval()
    module.steps = (threading.Lock() for _ in range(1))  # type: ignore[assignment]
    RUNS.clear()
    assert uncompiled(module) is module
    module(torch.rand(2, 4))
    assert not RUNS


def test_a_workload_is_built_without() -> None:
    built = build(Case(workload=f"{__name__}:kept", compiler="identity", batch_size=2))
    RUNS.clear()
    with torch.inference_mode():
        built.module(*built.args)
    assert not RUNS
    KEPT(*built.args)
    assert RUNS
