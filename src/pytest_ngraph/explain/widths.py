"""The slowest layers of a profile, and the widths nearby that they are worth trying at.

A width is a number of channels or features. Libraries compute these in full vectors, and handle the rest separately or
pad it. No graph shows that; the times of a layer at several widths do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pytest_ngraph.explain.layers import STEP, Layer, layers
from pytest_ngraph.explain.profile import Profile
from pytest_ngraph.stats import Estimate

LEAST_SHARE = 0.02
"""Layers that take less of a call are left out."""
MOST_LAYERS = 3
SAME = 1.05
"""A wider layer costs the same if it surely takes no more than this many times as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """A layer that takes a good part of a call.

    Attributes:
        modules: paths of all modules that have it, in the order of the program.
        share: the part of a call that they take together, with what is fused to them.
    """

    layer: Layer
    modules: tuple[str, ...]
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A layer at another width, measured alone beside its own.

    Attributes:
        ratio: its time over the time at the layer's own width.
        work: its multiplications over those at the layer's own width.
    """

    width: int
    ratio: Estimate
    work: float

    @property
    def is_free(self) -> bool:
        """Whether it is wider and surely costs hardly more."""
        return self.work > 1 and self.ratio.high <= SAME

    @property
    def saves(self) -> bool:
        """Whether it is narrower and surely saves more than in proportion."""
        return self.work < 1 and self.ratio.high < self.work


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """A slow layer at its own width and at others nearby.

    Attributes:
        seconds: per call of the layer alone, at its own width.
    """

    slow: Slow
    seconds: Estimate
    tried: tuple[Tried, ...]

    @property
    def widest_free(self) -> Tried | None:
        return max((each for each in self.tried if each.is_free), key=lambda each: each.width, default=None)

    @property
    def best_saving(self) -> Tried | None:
        saving = (each for each in self.tried if each.saves)
        return min(saving, key=lambda each: each.ratio.value / each.work, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the layer and its times as JSON-ready data. An estimate is `[value, low, high]`."""
        return {
            "modules": list(self.slow.modules),
            "operator": self.slow.layer.kind,
            "share": self.slow.share,
            "width": self.slow.layer.width,
            "seconds": list(self.seconds),
            "tried": [{"width": each.width, "ratio": list(each.ratio), "work": each.work} for each in self.tried],
        }


def why_none(profile: Profile) -> str:
    """Return why `slow_layers` of a profile are none, in words."""
    if not layers({node.name: node for node in profile.nodes}):
        return "the profile shows no convolution or linear layer of which it says all sizes"
    return f"every layer that takes {100 * LEAST_SHARE:.0f} % of a call or more has widths that are multiples of {STEP}"


def slow_layers(profile: Profile) -> list[Slow]:
    """Return the layers with a width to change that take the most of a call, slowest first. Equal ones count as one."""
    nodes = {node.name: node for node in profile.nodes}
    known = layers(nodes)
    uses: defaultdict[Layer, dict[str, float]] = defaultdict(dict)
    for name, share in _shares(profile, known).items():
        if known[name].width is not None:
            uses[known[name]][name] = share
    slow = [
        Slow(layer=layer, modules=tuple(dict.fromkeys(nodes[name].module for name in own)), share=sum(own.values()))
        for layer, own in uses.items()
    ]
    slow.sort(key=lambda each: -each.share)
    return [each for each in slow if each.share >= LEAST_SHARE][:MOST_LAYERS]


def _shares(profile: Profile, names: Collection[str]) -> dict[str, float]:
    """Return the share of a call of each of these nodes. Those of one kernel share its time equally."""
    latency_s = sum(block.latency_s for block in profile.blocks)
    shares = dict.fromkeys(names, 0.0)
    for kernel in (kernel for block in profile.blocks for kernel in block.kernels):
        own = [name for name in kernel.nodes if name in shares]
        for name in own:
            shares[name] += kernel.seconds / latency_s / len(own)
    return shares
