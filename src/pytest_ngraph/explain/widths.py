"""The slowest layers of a profile, and the widths nearby that they are worth trying at.

A width is a number of channels or features. Libraries compute them in full vectors and treat the rest apart, or fill it
up, which no graph shows: the times of a layer at several widths do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_ngraph.case import Scalar
from pytest_ngraph.explain.profile import Node, Profile
from pytest_ngraph.stats import Estimate

CONVOLUTIONS = ("conv1d", "conv2d", "conv3d")
LINEAR = "linear"
STEP = 16
"""Numbers of one vector of the widest processors, in fp32. Multiples of it are not worth a try."""
STEPS = (8, 16, 32, 64)
"""A width is tried at the next multiples of these."""
FARTHEST = 1.5
"""No width is tried that is wider than this many times the layer's own, or narrower by as much."""
LEAST_SHARE = 0.02
"""Layers that take less of a call are left out."""
MOST_LAYERS = 3
SAME = 1.05
"""A wider layer costs the same if it surely takes no more than this many times as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A convolution or a linear layer, on inputs of one shape.

    Attributes:
        kind: the operator: `conv2d`, `linear`.
        outputs: channels or features of its result.
        inputs: those of its input.
        kernel: extents of the kernel; empty for a linear layer.
        input_shape: shape of its input, with all axes.
        bias: whether it has one.
        options: stride, padding and dilation as PyTorch takes them, as text: `[2, 2], [1, 1]`.
        groups: of channels.
    """

    kind: str
    outputs: int
    inputs: int
    kernel: tuple[int, ...] = ()
    input_shape: tuple[int, ...]
    bias: bool = True
    options: str = ""
    groups: int = 1

    @property
    def width(self) -> int | None:
        """The width at which it may pay to try others; None where it has none."""
        return next((each for each in (self.outputs, self.inputs) if each > STEPS[0] and each % STEP), None)

    @property
    def unit(self) -> str:
        return "features" if self.kind == LINEAR else "channels"

    @property
    def arguments(self) -> dict[str, Scalar]:
        """The layer as arguments of `workloads.layer.layer`."""
        sizes = (self.outputs, self.inputs, self.groups, *self.kernel)
        texts = {"sizes": "x".join(map(str, sizes)), "on": "x".join(map(str, self.input_shape))}
        return {"kind": self.kind, **texts, "options": self.options, "bias": self.bias}

    @property
    def work(self) -> int:
        """What its number of multiplications is proportional to, as inputs and outputs change."""
        return self.outputs * self.inputs // self.groups

    def at(self, width: int) -> Layer | None:
        """Return the layer with another width, wherever it has its own; None where its groups do not divide that."""
        own = self.width
        outputs, inputs = (width if each == own else each for each in (self.outputs, self.inputs))
        groups = width if self.groups == own else self.groups
        if outputs % groups or inputs % groups:
            return None
        axis = len(self.input_shape) - 1 if self.kind == LINEAR else 1
        shape = (*self.input_shape[:axis], inputs, *self.input_shape[axis + 1 :])
        return replace(self, outputs=outputs, inputs=inputs, groups=groups, input_shape=shape)

    def nearby(self) -> dict[int, Layer]:
        """Return the layer at the widths that are worth a try, by the width, the narrowest first."""
        own = self.width or 0
        widths = {step * (own // step + above) for step in STEPS for above in (0, 1)} - {own}
        tried = {width: self.at(width) for width in sorted(widths) if own / FARTHEST <= width <= own * FARTHEST}
        return {width: layer for width, layer in tried.items() if layer is not None}


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
    if not any(node.operator in (*CONVOLUTIONS, LINEAR) for node in profile.nodes):
        return "the profile shows no convolution or linear layer of PyTorch (those of ONNX files are not probed)"
    return f"every layer that takes {100 * LEAST_SHARE:.0f} % of a call or more has multiples of {STEP}"


def slow_layers(profile: Profile) -> list[Slow]:
    """Return the layers of an odd width that take the most of a call, the slowest first. Equal ones count together.

    Only of exported programs: the nodes of ONNX files are not read.
    """
    nodes = {node.name: node for node in profile.nodes}
    uses: defaultdict[Layer, dict[str, float]] = defaultdict(dict)
    for name, share in _shares(profile, nodes).items():
        layer = _layer(nodes[name], nodes)
        if layer is not None and layer.width is not None:
            uses[layer][name] = share
    slow = [
        Slow(layer=layer, modules=tuple(dict.fromkeys(nodes[name].module for name in own)), share=sum(own.values()))
        for layer, own in uses.items()
    ]
    slow.sort(key=lambda each: -each.share)
    return [each for each in slow if each.share >= LEAST_SHARE][:MOST_LAYERS]


def _shares(profile: Profile, nodes: Mapping[str, Node]) -> dict[str, float]:
    """Return the share of a call of each convolution and linear layer. Those of one kernel share its time alike."""
    layers = {name for name, node in nodes.items() if node.operator in (*CONVOLUTIONS, LINEAR)}
    latency_s = sum(block.latency_s for block in profile.blocks)
    shares = dict.fromkeys((name for name in nodes if name in layers), 0.0)
    for kernel in (kernel for block in profile.blocks for kernel in block.kernels):
        own = [name for name in kernel.nodes if name in layers]
        for name in own:
            shares[name] += kernel.seconds / latency_s / len(own)
    return shares


def _layer(node: Node, nodes: dict[str, Node]) -> Layer | None:
    """Return the layer that a node of an exported program is; None where the program does not say all of it."""
    before = nodes.get(node.inputs[0]) if len(node.inputs) == 1 else None
    weight, *others = _arguments(node.attributes)
    if before is None or not weight or not _are_numbers(before.shape):
        return None
    outputs, inputs, *kernel = map(int, weight.split("x"))
    bias, *options = others or ["None"]
    groups = int(options.pop()) if len(options) == 4 else 1
    return Layer(
        kind=node.operator,
        outputs=outputs,
        inputs=inputs * groups,
        kernel=tuple(kernel),
        input_shape=tuple(int(size) for size in before.shape),
        bias=bias != "None",
        options=", ".join(options),
        groups=groups,
    )


def _are_numbers(shape: Sequence[int | str]) -> bool:
    return bool(shape) and all(isinstance(size, int) for size in shape)


def _arguments(attributes: str) -> list[str]:
    """Return the arguments in a node's attributes: `64x3x7x7`, `None`, `[2, 2]`. None where a weight is not first."""
    parts: list[str] = []
    for part in attributes.split(", "):
        if parts and parts[-1].count("[") > parts[-1].count("]"):
            parts[-1] += f", {part}"
        else:
            parts.append(part)
    weight = parts[0].partition(" ")[0]
    is_weight = weight.count("x") >= 1 and all(size.isdigit() for size in weight.split("x"))
    return [weight if is_weight else "", *parts[1:]]
