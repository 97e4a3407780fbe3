"""A profile as a record keeps it: the medians of its blocks, without the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from pytest_ngraph.artifact import Node
from pytest_ngraph.explain.fusions import label, times
from pytest_ngraph.explain.places import paths_of
from pytest_ngraph.explain.profile import Block, Kernel, Profile
from pytest_ngraph.wording import Numbered, significant

DIGITS = 4
"""Significant digits of the numbers that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptProfile:
    """Where a call spends its time, small enough for a record.

    Attributes:
        latency_s: seconds per call, timed beside the profile without a profiler.
        modules: paths of the modules that have operations, in the order of the program.
        kernels: with the program's operators as `operator`, and the modules that went into each.
        counters: what the processor did in a call, by event; empty where the kernel counts nothing.
    """

    latency_s: float
    modules: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    counters: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, profile: Profile) -> KeptProfile:
        """Return the medians of a profile's blocks, of which it has at least one."""
        nodes = {node.name: node for node in profile.nodes}
        operators = {node.name: node.operator for node in profile.nodes}
        seconds: dict[str, list[float]] = {}
        described: dict[str, Kernel] = {}
        for index, block in enumerate(profile.blocks):
            for kernel in block.kernels:
                described.setdefault(kernel.name, kernel)
                seconds.setdefault(kernel.name, [0.0] * len(profile.blocks))[index] += kernel.seconds
        kernels = (
            Kernel(
                name=name,
                operator=label(kernel, operators),
                seconds=_median(seconds[name]),
                kind=kernel.kind,
                modules=tuple(dict.fromkeys(paths_of(kernel, nodes))),
                layout=kernel.layout,
                runs=times(kernel, operators) if kernel.runs else 0,
            )
            for name, kernel in described.items()
        )
        return cls(
            latency_s=_median([block.latency_s for block in profile.blocks]),
            modules=tuple(dict.fromkeys(node.module for node in profile.nodes)),
            kernels=tuple(kernels),
            counters={
                name: _median([block.counters.get(name, 0.0) for block in profile.blocks])
                for name in profile.blocks[-1].counters
            },
        )

    @property
    def coverage(self) -> float:
        """Profiled time over timed latency."""
        return sum(kernel.seconds for kernel in self.kernels) / self.latency_s

    def profile(self, name: str) -> Profile:
        """Return it as a profile of one block, to be explained. Its nodes only say which modules there are."""
        nodes = tuple(Node(name=path, operator="", module=path) for path in self.modules)
        return Profile(name=name, nodes=nodes, blocks=(Block(latency_s=self.latency_s, kernels=self.kernels),))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data, in which each text is written once and kernels are lists of numbers of texts.

        The last number of a kernel is how often it runs, where it runs several times.
        """
        modules = Numbered(self.modules)
        operators, kinds = Numbered(), Numbered()
        kernels = [
            [
                operators[each.operator],
                kinds[each.kind],
                [modules[path] for path in each.modules],
                each.seconds,
                int(each.layout),
                *([each.runs] if each.runs > 1 else []),
            ]
            for each in self.kernels
        ]
        texts = {"modules": [*modules], "operators": [*operators], "kinds": [*kinds]}
        return {"latency_s": self.latency_s, **texts, "kernels": kernels, "counters": self.counters}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> KeptProfile:
        """Return the profile that `to_dict` wrote. Its kernels are named by their numbers."""
        modules = data["modules"]
        return cls(
            latency_s=data["latency_s"],
            modules=tuple(modules),
            counters=data["counters"],
            kernels=tuple(
                Kernel(
                    name=str(number),
                    operator=data["operators"][operator],
                    kind=data["kinds"][kind],
                    modules=tuple(modules[each] for each in within),
                    seconds=seconds,
                    layout=bool(layout),
                    runs=runs[0] if runs else 0,
                )
                for number, (operator, kind, within, seconds, layout, *runs) in enumerate(data["kernels"])
            ),
        )


def _median(values: Sequence[float]) -> float:
    return significant(median(values), DIGITS)
