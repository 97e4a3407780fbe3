"""The blocks of a stack, and the time in each."""

from __future__ import annotations

import pytest

from pytest_ngraph.explain.blocks import blocks_of, seconds_of_blocks
from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.explain.profile import Kernel

STEM = ("stem.0", "stem.1", "stem.2")
BLOCKS = tuple(f"blocks.{number}.{part}" for number in range(3) for part in ("conv", "norm"))


@pytest.mark.parametrize(
    ("modules", "depth", "blocks"),
    [
        (("0", "1.0", "1.1", "2.0", "2.1"), 2, ["1", "2"]),  # conv: a stem before the blocks
        (("0.attention.out_proj", "0.norm", "1.attention.out_proj"), 2, ["0", "1"]),
        (
            ("stem.0", "body.layers.0.a", "body.layers.1.a", "body.layers.2.a"),
            3,
            [f"body.layers.{n}" for n in range(3)],
        ),
        (("stem", "head"), 2, []),
        (("0", "1.0", "1.1"), 1, ["1"]),
        ((*STEM, *BLOCKS[:2]), 1, ["blocks.0"]),
        ((*STEM, *BLOCKS[:4]), 2, ["blocks.0", "blocks.1"]),
        ((*STEM, *BLOCKS), 3, [f"blocks.{n}" for n in range(3)]),
        (("0.a", "0.b", "1.a", "1.b", "2"), 2, ["0", "1"]),  # a head behind the blocks
        (("blocks.0.mlp.0", "blocks.0.mlp.1", "blocks.1.mlp.0", "blocks.1.mlp.1"), 2, ["blocks.0", "blocks.1"]),
        (("0.a", "0.shortcut", "1.a"), 2, ["0", "1"]),  # equal but for a shortcut
        (("encoder.0.a", "encoder.1.a", "decoder.0.a", "decoder.1.a"), 2, []),  # either
        (("0", "1", "2"), 2, []),  # a stem or a head beside two layers
    ],
)
def test_blocks_are_as_many_numbered_parts_as_the_stack_is_deep_that_are_alike(
    modules: tuple[str, ...], depth: int, blocks: list[str]
) -> None:
    assert blocks_of(modules, depth) == blocks


def kernel(seconds: float, *modules: str, layout: bool = False) -> Kernel:
    return Kernel(name=f"{modules}", operator="x", seconds=seconds, modules=modules, layout=layout)


def profile(*kernels: Kernel) -> KeptProfile:
    return KeptProfile(latency_s=50.0, modules=("0", "1.0", "1.1", "2.0", "2.1"), kernels=kernels)


def test_a_kernel_counts_for_the_blocks_that_it_spans() -> None:
    kernels = (
        kernel(1.0, "0"),
        kernel(2.0, "1.0", "1.1"),
        kernel(4.0, "2.0"),
        kernel(3.0, "1.1", "2.0"),
        kernel(0.5, "0", "1.0"),  # the stem and a block
        kernel(9.0, "1.0", layout=True),
        kernel(9.0),
    )
    assert seconds_of_blocks(profile(*kernels), 2) == [3.5, 5.5]


def test_blocks_that_are_computed_together_with_the_rest_are_not_told_apart() -> None:
    assert seconds_of_blocks(profile(kernel(4.0, "0", "1.0"), kernel(4.0, "2.0")), 2) == []
