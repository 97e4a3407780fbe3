"""Find the equal blocks of a stack, and the time that is spent in each."""

from __future__ import annotations

from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.explain.places import is_within, parts

MOST_ACROSS = 0.1
"""The time of each block is not given where kernels that span blocks and other parts take more than this share."""


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
    """Return the paths of the blocks: the last `depth` numbered parts of the first module that has so many.

    What comes before them in the same module, such as a stem, is no block.
    """
    numbered: dict[str, dict[str, None]] = {}
    for path in modules:
        names = parts(path)
        for place, name in enumerate(names):
            if name.isdecimal():
                numbered.setdefault(".".join(names[:place]), {})[".".join(names[: place + 1])] = None
    stacks = sorted(numbered, key=lambda container: len(parts(container)))
    return next(([*numbered[stack]][-depth:] for stack in stacks if len(numbered[stack]) >= depth), [])


def _place(path: str, blocks: list[str]) -> int | None:
    return next((place for place, block in enumerate(blocks) if is_within(path, block)), None)
