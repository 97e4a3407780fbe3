"""What a profile shows: the operations of the program, and the kernels that a compiled model ran them in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pytest_ngraph.artifact import Node

Group = Literal["module", "layout", "unattributed"]
"""What a kernel's time counts for: a module of the network, layout changes, or nothing that is known."""
PYTHON = "Python"
"""The operator of what is none: a module's own time between the operators and the modules that it calls."""
SILENT = (
    *("getitem", "view", "reshape", "unsqueeze", "squeeze", "flatten", "detach", "alias", "dropout", "identity"),
    "_assert_tensor_metadata",
    *("Reshape", "Unsqueeze", "Squeeze", "Flatten", "Dropout", "Identity"),
)
"""Operators that compute nothing. A label leaves them out beside others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A piece of work of a compiled model, as its library reports it.

    Attributes:
        name: the library's name of it, which no other kernel of the model has.
        operator: what it does, in the library's words: `Convolution`.
        seconds: seconds per call of the model.
        kind: which of the library's kernels it is, `brgemm_avx512_f32`; empty where the library does not say.
        provider: what executes it, as the library names it: a device or an execution provider.
        nodes: names of the program's nodes that went into it, in their order.
        modules: paths of the modules that it works for, where the library knows these instead of nodes.
        layout: whether it only changes the layout or type of data, and the library added it by itself.
        runs: how often it runs in a call, where its nodes are not fused: a run computes some of them; 0 where a single
            run computes all.
    """

    name: str
    operator: str
    seconds: float
    kind: str = ""
    provider: str = ""
    nodes: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    layout: bool = False
    runs: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as JSON-ready data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Kernel:
        """Return the kernel that `to_dict` wrote."""
        return cls(**data | {name: tuple(data[name]) for name in ("nodes", "modules")})


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Calls that were profiled, and calls of the model as it is measured, timed beside them.

    Attributes:
        latency_s: seconds per call of the model that is not profiled.
        kernels: kernels with their seconds per call.
        counters: what the processor did in a call of the model that is not profiled, by event (`system.perf_events`).
    """

    latency_s: float
    kernels: tuple[Kernel, ...]
    counters: dict[str, float] = field(default_factory=dict)

    @property
    def profiled_s(self) -> float:
        """Seconds per call of all kernels."""
        return sum(kernel.seconds for kernel in self.kernels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One case's profile.

    Attributes:
        name: what it is called where it is shown: the compiler.
        nodes: what was compiled.
        blocks: in the order in which they ran.
        uncounted: why the processor's events are not known, or not all of them; empty where they are.
    """

    name: str
    nodes: tuple[Node, ...]
    blocks: tuple[Block, ...]
    uncounted: str = ""

    @property
    def modules(self) -> dict[str, str]:
        """Path of the module of each node, by the node's name."""
        return {node.name: node.module for node in self.nodes}

    @property
    def kernels(self) -> Iterator[Kernel]:
        """The kernels of the last block."""
        return iter(self.blocks[-1].kernels)
