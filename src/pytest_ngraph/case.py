"""A case: one combination of workload, compiler, batch size, depth, width, precision, objective and device."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args

Precision = Literal["fp32", "bf16", "fp16"]
Objective = Literal["latency", "throughput"]
Scalar = str | int | float | bool

PRECISIONS: tuple[Precision, ...] = get_args(Precision)
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
IDENTITY = "identity"
FP32: Precision = "fp32"
LATENCY: Objective = "latency"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One combination to be measured. Plain data: hashable, and `to_dict` is JSON.

    Attributes:
        workload: a model and its inputs by name (`resnet18`, `conv`, `path/to/net.onnx`, `package.module:function`).
        compiler: the canonical text of a `CompilerSpec` (`openvino`, `openvino:streams=4`).
        batch_size: samples per iteration.
        depth: number of stacked blocks; None for whole models.
        width: channels or embedding dimensions of the blocks; None for whole models.
        model_args: further arguments of the model, sorted by name.
        device: the name of a device profile.
    """

    workload: str
    compiler: str
    batch_size: int
    depth: int | None = None
    width: int | None = None
    precision: Precision = FP32
    objective: Objective = LATENCY
    model_args: tuple[tuple[str, Scalar], ...] = ()
    device: str = "cpu"

    @property
    def id(self) -> str:
        """The bracketed part of the test's name: `swin_s3_tiny_224-openvino-b8-xeon`."""
        return "-".join((self.model_label, self.compiler, *self._size_parts(), self.device))

    @property
    def group(self) -> Case:
        """This case with identity as its compiler: equal for all cases that are measured together."""
        return dataclasses.replace(self, compiler=IDENTITY)

    @property
    def group_label(self) -> str:
        """The group's name as shown to users: the id without the compiler."""
        return "-".join((self.model_label, *self._size_parts(), self.device))

    @property
    def model_label(self) -> str:
        """The workload with its arguments: `vit_tiny_patch16_224,img_size=192`."""
        return ",".join((self.workload, *(f"{name}={value}" for name, value in self.model_args)))

    @property
    def network_label(self) -> str:
        """The workload with its arguments, depth and width, whatever its batch size: `conv-d3-w64`."""
        return "-".join((self.model_label, *self._block_parts()))

    def _block_parts(self) -> list[str]:
        return [f"{letter}{size}" for letter, size in (("d", self.depth), ("w", self.width)) if size is not None]

    @property
    def variant(self) -> tuple[str, ...]:
        """Precision and objective, where they are not the defaults."""
        usual = {"precision": FP32, "objective": LATENCY}
        return tuple(getattr(self, name) for name, value in usual.items() if getattr(self, name) != value)

    def _size_parts(self) -> list[str]:
        return [f"b{self.batch_size}", *self._block_parts(), *self.variant]

    def to_dict(self) -> dict[str, Any]:
        """Return the case as JSON-ready data."""
        return dataclasses.asdict(self) | {"model_args": dict(self.model_args)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Case:
        """Return the case that `to_dict` wrote."""
        return cls(**data | {"model_args": tuple(sorted(data.get("model_args", {}).items()))})


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
