from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from pytest_ngraph.case import Case, Scalar
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads.blocks import Blocks

if TYPE_CHECKING:
    from collections.abc import Iterable

TABLE_V = list(csv.DictReader((Path(__file__).parents[1] / "data" / "table5_blocks.csv").open()))


def _case(block: str, depth: int | None, width: int | None, **model_args: Scalar) -> Case:
    return Case(
        workload=block,
        compiler="identity",
        batch_size=1,
        depth=depth,
        width=width,
        model_args=tuple(model_args.items()),
    )


def _parameters(case: Case) -> int:
    return sum(parameter.numel() for parameter in Blocks().build(case).module.parameters())


@pytest.mark.parametrize("row", TABLE_V, ids=lambda row: f"{row['block']}-{row['width']}")
def test_a_block_has_the_parameters_of_the_study(row: dict[str, str]) -> None:
    block, width = row["block"], int(row["width"])
    one_more = _parameters(_case(block, 2, width)) - _parameters(_case(block, 1, width))
    assert one_more == int(row["parameters_per_block"])


@settings(max_examples=20, deadline=None)
@given(depth=st.integers(1, 4), width=st.integers(1, 40))
def test_parameters_of_convolutional_stacks(depth: int, width: int) -> None:
    stem = 3 * width * 9 + width
    block = width * width * 9 + width + 2 * width
    assert _parameters(_case("conv", depth, width)) == stem + depth * block


@settings(max_examples=20, deadline=None)
@given(depth=st.integers(1, 4), heads=st.integers(1, 8), dimensions_per_head=st.integers(1, 8))
def test_parameters_of_attention_stacks(depth: int, heads: int, dimensions_per_head: int) -> None:
    width = heads * dimensions_per_head
    assert _parameters(_case("mha", depth, width, heads=heads)) == depth * 4 * (width * width + width)


@pytest.mark.parametrize(("block", "shape"), [("conv", (3, 64, 244, 244)), ("mha", (3, 10, 128))])
def test_defaults_are_one_block_of_the_narrowest_width(block: str, shape: tuple[int, ...]) -> None:
    built = Blocks().build(Case(workload=block, compiler="identity", batch_size=3))
    with torch.inference_mode():
        output = built.module(*built.inputs)
    assert output.shape == shape
    assert output.isfinite().all()
    assert output.min() == 0  # the block ends in ReLU


def test_a_convolutional_stack_is_stem_and_blocks() -> None:
    kinds = [type(layer) for layer in _leaves(Blocks().build(_case("conv", 2, 4)).module)]
    assert kinds == [nn.Conv2d, *[nn.Conv2d, nn.BatchNorm2d, nn.ReLU] * 2]


def test_depth_makes_a_difference_to_the_output() -> None:
    one, two = (Blocks().build(_case("mha", depth, 16)) for depth in (1, 2))
    assert not torch.equal(one.module(*one.inputs), two.module(*two.inputs))


def test_building_twice_gives_the_same() -> None:
    first, second = (Blocks().build(_case("mha", 1, 16)) for _ in range(2))
    assert torch.equal(first.inputs[0], second.inputs[0])
    for a, b in zip(first.module.parameters(), second.module.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (_case("conv", 0, 64), "depth=0 of conv: give the number of stacked blocks, 1 or more"),
        (_case("mha", -1, 64), "depth=-1 of mha"),
        (_case("conv", 1, 0), "width=0 of conv: give the number of channels, 1 or more"),
        (_case("mha", 1, 0), "width=0 of mha: give the embedding dimensions"),
        (_case("mha", 1, 100), r"not divisible by its 8 heads.*nearest: 96 or 104.*heads=1, 2, 4, 5, 10"),
        (_case("mha", 1, 3), r"nearest: 8\).*heads=1, 3\."),
        (_case("mha", 1, 64, heads=0), "heads=0 of mha"),
        (_case("mha", 1, 64, heads="many"), "heads=many of mha"),
        (_case("mha", 1, 64, head=4), "'head'. Did you mean 'heads'"),
        (_case("conv", 1, 64, heads=4), "conv takes only depth and width. Leave it out"),
    ],
)
def test_impossible_cases_are_refused(case: Case, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Blocks().check(case)


def _leaves(module: nn.Module) -> Iterable[nn.Module]:
    return (part for part in module.modules() if not list(part.children()))
