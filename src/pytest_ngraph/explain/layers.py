"""Convolutions and linear layers, read from the operations of exported programs and of ONNX files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_ngraph.artifact import Node
from pytest_ngraph.case import Scalar

LINEAR = "linear"
STEP = 16
"""Numbers of one vector of the widest processors, in fp32. Multiples of it are not worth a try."""
STEPS = (8, 16, 32, 64)
"""A width is tried at the next multiples of these."""
FARTHEST = 1.5
"""No width is tried that is wider than this many times the layer's own, or narrower by as much."""
OPTIONS = ("stride", "padding", "dilation")
TRANSPOSED = "conv_transpose"
TRANSPOSED_OPTIONS = ("stride", "padding", "output_padding", "groups", "dilation")
"""Arguments behind weight and bias, in PyTorch's order. Of other convolutions, the groups are the last."""
ONNX_LAYERS = {"Conv": "conv", "ConvTranspose": TRANSPOSED, "Gemm": LINEAR, "MatMul": LINEAR}
"""What ONNX's operators are; of a convolution without its number of axes."""
ONNX_OPTIONS = {"strides": "stride", "dilations": "dilation", "output_padding": "output_padding"}
UNREAD = {"auto_pad": "b'NOTSET'", "alpha": "1.0", "beta": "1.0", "transA": "0"}
"""Attributes of ONNX that PyTorch's layers lack. With another value, the layer is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A convolution or a linear layer, on inputs of one shape.

    Attributes:
        kind: the operator, by PyTorch's name: `conv2d`, `conv_transpose2d`, `linear`.
        outputs: channels or features of its result.
        inputs: those of its input.
        kernel: extents of the kernel; empty for a linear layer.
        input_shape: shape of its input, with all axes.
        bias: whether it has one.
        options: of a convolution, as text: `stride=[2, 2], padding=[1, 1]`.
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


def layers(nodes: Mapping[str, Node]) -> dict[str, Layer]:
    """Return the layers among these nodes, by name: those whose attributes say everything about them."""
    found = {name: layer_of(node, nodes) for name, node in nodes.items()}
    return {name: layer for name, layer in found.items() if layer is not None}


def layer_of(node: Node, nodes: Mapping[str, Node]) -> Layer | None:
    """Return the layer that a node is, of an exported program or an ONNX file; None where it is none, or not known.

    Args:
        nodes: all nodes, by name.
    """
    before = nodes.get(node.inputs[0]) if len(node.inputs) == 1 else None
    if before is None or not before.shape:
        return None
    shape = tuple(size for size in before.shape if isinstance(size, int))
    parts = _parts(node.attributes)
    if len(shape) < len(before.shape):
        return None
    if node.operator in ONNX_LAYERS:
        return _of_file(node, parts, shape) if node.type in ("float", "") else None
    if node.operator == LINEAR or node.operator.startswith("conv"):
        return _of_program(node.operator, parts, shape)
    return None


def _of_program(operator: str, parts: list[str], shape: tuple[int, ...]) -> Layer | None:
    weight = _extents(parts[0])
    if not weight:
        return None
    bias, *options = parts[1:] or ["None"]
    if operator.startswith(TRANSPOSED):
        given = dict(zip(TRANSPOSED_OPTIONS, options, strict=False))
    else:
        groups = options.pop() if len(options) > len(OPTIONS) else "1"
        given = {**dict(zip(OPTIONS, options, strict=False)), "groups": groups}
    return _layer(operator, weight, shape, given, bias=bias != "None")


def _of_file(node: Node, parts: list[str], shape: tuple[int, ...]) -> Layer | None:
    attributes, weights = _of_onnx(parts)
    if not weights or any(attributes.get(name, value) != value for name, value in UNREAD.items()):
        return None
    kind, bias = ONNX_LAYERS[node.operator], len(weights) > 1
    if kind != LINEAR:
        given = _onnx_options(attributes)
        return None if given is None else _layer(f"{kind}{len(weights[0]) - 2}d", weights[0], shape, given, bias=bias)
    weight = weights[0] if attributes.get("transB") == "1" else weights[0][::-1]
    # Where the matrix is the first factor of the product, the result has another shape.
    return _layer(LINEAR, weight, shape, {}, bias=bias) if node.shape == (*shape[:-1], weight[0]) else None


def _onnx_options(attributes: dict[str, str]) -> dict[str, str] | None:
    """Return the options of a convolution by PyTorch's names; None where it has none like them."""
    pads = [each.strip() for each in attributes.get("pads", "[]").strip("[]").split(",") if each.strip()]
    half = len(pads) // 2
    if "output_shape" in attributes or pads[:half] != pads[half:]:
        return None
    given = {ours: attributes[name] for name, ours in ONNX_OPTIONS.items() if name in attributes}
    given |= {"padding": f"[{', '.join(pads[:half])}]"} if pads else {}
    return given | {"groups": attributes.get("group", "1")}


def _layer(
    kind: str, weight: tuple[int, ...], shape: tuple[int, ...], given: dict[str, str], *, bias: bool
) -> Layer | None:
    """Return a layer from its weight, whose first two axes are outputs and the inputs of a group.

    For a transposed convolution, they are inputs and the outputs of a group.
    """
    groups = int(given.pop("groups", "1"))
    outputs, inputs, *kernel = weight
    if kind.startswith(TRANSPOSED):
        outputs, inputs = inputs * groups, outputs
    else:
        inputs *= groups
    if shape[-1 if kind == LINEAR else 1 :][:1] != (inputs,):
        return None
    return Layer(
        kind=kind,
        outputs=outputs,
        inputs=inputs,
        kernel=tuple(kernel),
        input_shape=shape,
        bias=bias,
        options=", ".join(f"{name}={value}" for name, value in given.items()),
        groups=groups,
    )


def _of_onnx(parts: list[str]) -> tuple[dict[str, str], list[tuple[int, ...]]]:
    """Return the attributes of a node of an ONNX file by their names, and the shapes of its weights."""
    named = (part.partition("=") for part in parts if "=" in part)
    weights = [extents for part in parts if "=" not in part and (extents := _extents(part))]
    return {name: value for name, _, value in named}, weights


def _extents(part: str) -> tuple[int, ...]:
    """Return the shape that an attribute is, also one with a layout: `64x3x7x7 channels_last`; none for others."""
    sizes = part.partition(" ")[0].split("x")
    return tuple(map(int, sizes)) if all(size.isdigit() for size in sizes) else ()


def _parts(attributes: str) -> list[str]:
    """Return the parts of a node's attributes: `64x3x7x7`, `None`, `[2, 2]`, `strides=[2, 2]`."""
    parts: list[str] = []
    for part in attributes.split(", "):
        if parts and parts[-1].count("[") > parts[-1].count("]"):
            parts[-1] += f", {part}"
        else:
            parts.append(part)
    return parts
