"""A case: one combination of workload, compiler, batch size, other sizes, precision, objective and device."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Precision = Literal["fp32", "bf16", "fp16"]
Objective = Literal["latency", "throughput", "serving"]
Scalar = str | int | float | bool
Shape = tuple[int | str, ...]
"""The shape of an input. A text is the size of that name; `batch` is the batch size."""

PRECISIONS: tuple[Precision, ...] = get_args(Precision)
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
IDENTITY = "identity"
BATCH = "batch"
FP32: Precision = "fp32"
LATENCY: Objective = "latency"
SERVING: Objective = "serving"
RESERVED = {
    "b": "batch_size", "batch": "batch_size", "batch_size": "batch_size", "d": "depth", "depth": "depth",
    "w": "width", "width": "width", "compiler": "compiler", "workload": "workload", "device": "device",
    "precision": "precision", "objective": "objective",
}  # fmt: skip
"""Names that a size of one's own cannot have, because thresholds select by them, with the argument to give instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One combination to be measured. Plain data: hashable, and `to_dict` is JSON.

    Attributes:
        workload: a model and its inputs by name (`resnet18`, `conv`, `path/to/net.onnx`, `package.module:function`).
        compiler: the canonical text of a `CompilerSpec` (`openvino`, `openvino:streams=4`).
        batch_size: samples per iteration.
        depth: number of stacked blocks; None for whole models.
        width: channels or embedding dimensions of the blocks; None for whole models.
        sizes: further sizes by the user's own names (`seq_len`), sorted by name.
        model_args: further arguments of the model, sorted by name.
        shapes: shapes of an ONNX file's inputs, sorted by the name of the input.
        inputs: the function that gives an ONNX file's inputs, `package.module:function`; empty to draw them.
        device: the name of a device profile.
        scored_by: the function that gives the outputs a score, `package.module:function`; empty for none. Cases that
            differ only in it are equal: they measure the same.
    """

    workload: str
    compiler: str
    batch_size: int
    depth: int | None = None
    width: int | None = None
    precision: Precision = FP32
    objective: Objective = LATENCY
    sizes: tuple[tuple[str, int], ...] = ()
    model_args: tuple[tuple[str, Scalar], ...] = ()
    shapes: tuple[tuple[str, Shape], ...] = ()
    inputs: str = ""
    device: str = "cpu"
    scored_by: str = field(default="", compare=False)

    @property
    def id(self) -> str:
        """The bracketed part of the test's name: `swin_s3_tiny_224-openvino-b8-xeon`."""
        return "-".join((self.model_label, self.compiler, *self._size_parts(), self.device))

    @property
    def group(self) -> Case:
        """This case with identity as its compiler: equal for all cases that are measured together."""
        return dataclasses.replace(self, compiler=IDENTITY)

    @property
    def compiler_name(self) -> str:
        """The compiler without its options."""
        return CompilerSpec.parse(self.compiler).name

    @property
    def is_compiled(self) -> bool:
        """Whether a compiler works on the model: not under eager PyTorch, whatever its options."""
        return self.compiler_name != IDENTITY

    @property
    def group_label(self) -> str:
        """The group's name as shown to users: the id without the compiler."""
        return "-".join((self.model_label, *self._size_parts(), self.device))

    @property
    def model_label(self) -> str:
        """The workload with its arguments: `vit_tiny_patch16_224,img_size=192`."""
        return labelled(self.workload, self.model_args, self.shapes, self.inputs)

    @property
    def network_label(self) -> str:
        """The workload with its arguments and all sizes but the batch: `conv-d3-w64`, `bert-seq_len=128`."""
        return "-".join((self.model_label, *size_parts(None, self.depth, self.width, self.sizes)))

    @property
    def named_sizes(self) -> dict[str, int]:
        """All sizes but the batch by name: `depth` and `width` where they are given, and the user's own."""
        given = (("depth", self.depth), ("width", self.width), *self.sizes)
        return {name: size for name, size in given if size is not None}

    @property
    def compiled_for(self) -> Objective:
        """What its compiler aims for: also under load, calls run one by one."""
        return LATENCY if self.objective == SERVING else self.objective

    @property
    def runs_single_calls(self) -> bool:
        """Whether a call runs by itself and so has a time of its own."""
        return self.compiled_for == LATENCY

    @property
    def variant(self) -> tuple[str, ...]:
        """Precision and objective, where they are not the defaults."""
        return tuple(value for value, usual in ((self.precision, FP32), (self.objective, LATENCY)) if value != usual)

    def _size_parts(self) -> list[str]:
        return [*size_parts(self.batch_size, self.depth, self.width, self.sizes), *self.variant]

    def to_dict(self) -> dict[str, Any]:
        """Return the case as JSON-ready data."""
        named = {name: dict(getattr(self, name)) for name in ("sizes", "model_args")}
        return dataclasses.asdict(self) | named | {"shapes": {name: list(shape) for name, shape in self.shapes}}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Case:
        """Return the case that `to_dict` wrote."""
        named = {name: tuple(sorted(data.get(name, {}).items())) for name in ("sizes", "model_args")}
        shapes = tuple(sorted((name, tuple(shape)) for name, shape in data.get("shapes", {}).items()))
        return cls(**data | named | {"shapes": shapes})


def labelled(
    workload: str, model_args: tuple[tuple[str, Scalar], ...], shapes: tuple[tuple[str, Shape], ...], inputs: str
) -> str:
    """Return a workload with everything that says what it is, but no size: `net.onnx,x=batch:3:48:320`."""
    if not (model_args or shapes or inputs):
        return workload
    given = [f"{name}={value}" for name, value in model_args]
    given += [f"{name}={':'.join(map(str, shape))}" for name, shape in shapes]
    return ",".join((workload, *given, *([f"inputs={inputs}"] if inputs else [])))


def size_parts(
    batch_size: int | None, depth: int | None, width: int | None, sizes: tuple[tuple[str, int], ...]
) -> list[str]:
    """Return the sizes as an id names them, without those that are None: `b8`, `d3`, `w64`, `seq_len=128`."""
    letters = (("b", batch_size), ("d", depth), ("w", width))
    parts = [f"{letter}{size}" for letter, size in letters if size is not None]
    return [*parts, sizes_label(sizes)] if sizes else parts


def sizes_label(sizes: tuple[tuple[str, int], ...]) -> str:
    """Return the sizes of the user's own: `image=224,seq_len=128`."""
    return ",".join(f"{name}={size}" for name, size in sizes)


@dataclass(frozen=True, slots=True)
class CompilerSpec:
    """A compiler by name, with its options as text: `openvino:streams=4,hint=latency`.

    Attributes:
        name: an entry point (`openvino`) or an import string (`package.module:Class`).
        options: name and value of each option, sorted by name.
    """

    name: str
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> CompilerSpec:
        """Parse `name[:key=value,...]`. A part after a colon without `=` belongs to the name, an import string."""
        name, colon, tail = text.strip().rpartition(":")
        if not colon or "=" not in tail:
            return cls(text.strip())
        pairs = (part.partition("=") for part in tail.split(","))
        return cls(name, tuple(sorted((key.strip(), value.strip()) for key, _, value in pairs)))

    def with_option(self, name: str, value: str) -> CompilerSpec:
        """Return the same compiler with this value of one option."""
        return CompilerSpec(self.name, tuple(sorted((dict(self.options) | {name: value}).items())))

    def __str__(self) -> str:
        if not self.options:
            return self.name
        return f"{self.name}:{','.join(f'{key}={value}' for key, value in self.options)}"


def split_compilers(text: str) -> list[str]:
    """Split a list: a part with `=` but no colon continues the compiler before it.

    `identity,openvino:streams=2,hint=x` names two compilers.
    """
    parts: list[str] = []
    for part in text.split(","):
        if parts and "=" in part and ":" not in part:
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


def of_different_compilers(cases: Iterable[Case]) -> list[Case]:
    """Return the first case of each compiler, whatever its options."""
    found: dict[str, Case] = {}
    for case in cases:
        found.setdefault(case.compiler_name, case)
    return list(found.values())
