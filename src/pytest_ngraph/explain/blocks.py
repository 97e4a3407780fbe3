"""Find the equal blocks of a stack, and the time that is spent in each."""

from __future__ import annotations

from itertools import groupby

from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.explain.places import is_within, parts

MOST_ACROSS = 0.1
"""The time of each block is not given where kernels that span blocks and other parts take more than this share."""
LAYER = frozenset(("",))
"""What is inside of a block that has no parts."""


def seconds_of_blocks(profile: KeptProfile, depth: int) -> list[float]:
    """Return the seconds of each block of a stack, in their order; empty where kernels do not show them.

    A kernel that spans several blocks is shared out evenly among them.

    Args:
        depth: how many blocks there are.
    """
    blocks = blocks_of(profile.modules, depth)
    seconds, across = [0.0] * len(blocks), 0.0
    for kernel in profile.kernels:
        places = [_place(path, blocks) for path in kernel.modules]
        inside = {place for place in places if place is not None}
        if kernel.layout or not inside:
            continue
        if None in places:
            across += kernel.seconds
        else:
            for place in inside:
                seconds[place] += kernel.seconds / len(inside)
    return seconds if across <= MOST_ACROSS * sum(seconds) else []


def blocks_of(modules: tuple[str, ...], depth: int) -> list[str]:
    """Return the paths of the blocks: `depth` numbered parts of one module, one after the other, that have equal parts.

    A stem before them, or a head behind them, has other parts. If no parts are equal, the blocks are those of a module
    that has exactly so many. Blocks inside of other blocks do not count, nor do single layers if other blocks have
    parts. If several stacks are left, it is not known which of them is meant.
    """
    stacks = [[(block, _inside(block, modules)) for block in stack] for stack in _numbered(modules)]
    equal = [[*same] for stack in stacks for _, same in groupby(stack, key=lambda each: each[1])]
    for candidates in (equal, stacks):
        fitting = [each for each in candidates if len(each) == depth]
        outer = [each for each in fitting if not any(_is_nested(each, other) for other in fitting)]
        with_parts = [each for each in outer if any(inside != LAYER for _, inside in each)]
        if len(chosen := with_parts or outer) == 1:
            return [block for block, _ in chosen[0]]
        if chosen:
            return []
    return []


def _numbered(modules: tuple[str, ...]) -> list[list[str]]:
    """Return the paths of the numbered parts of each module that has some, in the order of the network."""
    found: dict[str, dict[str, None]] = {}
    for path in modules:
        names = parts(path)
        for place, name in enumerate(names):
            if name.isdecimal():
                found.setdefault(".".join(names[:place]), {})[".".join(names[: place + 1])] = None
    return [[*stack] for stack in found.values()]


def _inside(block: str, modules: tuple[str, ...]) -> frozenset[str]:
    """Return the paths of a block's parts, from it on."""
    return frozenset(path[len(block) :] for path in modules if is_within(path, block))


def _is_nested(stack: list[tuple[str, frozenset[str]]], other: list[tuple[str, frozenset[str]]]) -> bool:
    """Return whether the blocks of a stack are parts of another's."""
    first = stack[0][0]
    return any(first != block and is_within(first, block) for block, _ in other)


def _place(path: str, blocks: list[str]) -> int | None:
    return next((place for place, block in enumerate(blocks) if is_within(path, block)), None)
