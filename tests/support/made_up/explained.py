"""A project of one small network, measured under several compilers, and made-up profiles."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pytest_ngraph.artifact import Node
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.case import Case
from pytest_ngraph.explain.explanation import explain
from pytest_ngraph.explain.profile import Block, Kernel, Profile
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.settings import Settings
from pytest_ngraph.store import Journal
from pytest_ngraph.system.files import compiled_folder

NET = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)) + x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 20, 3, padding=1)
        self.blocks = nn.Sequential(Block(20), Block(20))
        self.head = nn.Linear(20, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def net(batch_size):
    return Net().eval(), torch.rand(batch_size, 3, 64, 64)
"""


def measure(folder: Path, compilers: Sequence[str]) -> None:
    """Write the network into a folder, and measure it there under these compilers."""
    (folder / "explained_net.py").write_text(NET)
    settings = Settings(budget_s=0.01, warmup_s=0.01, min_rounds=6, cache=compiled_folder())
    cases = [Case(workload="explained_net:net", compiler=name, batch_size=1) for name in compilers]
    journal = Journal(folder / ".ngraph", {"processor": "a processor"})
    with closing(journal), closing(Bench(settings, BUILT_IN["cpu"].target)) as bench:
        for record in bench.run(cases):
            journal.append(record)


def node(name: str, module: str = "", operator: str = "", inputs: Sequence[str] = ("x",), **fields: object) -> Node:
    return Node(name=name, module=module, operator=operator or name, inputs=tuple(inputs), **fields)  # type: ignore[arg-type]


def kernel(name: str, seconds: float, nodes: Sequence[str] = (), **fields: object) -> Kernel:
    return Kernel(**{"name": name, "operator": name, "seconds": seconds, "nodes": tuple(nodes), **fields})  # type: ignore[arg-type]


def profile(
    kernels: Sequence[Kernel], nodes: Sequence[Node] = (), latency_s: float = 1.0, blocks: int = 6, name: str = "one"
) -> Profile:
    """Return a profile whose blocks are all the same."""
    block = Block(latency_s=latency_s, kernels=tuple(kernels))
    return Profile(name=name, nodes=tuple(nodes), blocks=(block,) * blocks)


NODES = [node("conv", "layer1.conv", "conv2d"), node("relu", "layer1.act"), node("linear", "head")]
KERNELS = [kernel("a", 0.4, ["conv", "relu"], kind="jit_1x1"), kernel("b", 0.5, ["linear"])]
"""A base that takes a second a call."""


def explained(head: Sequence[Kernel], nodes: Sequence[Node] = NODES, latency_s: float = 1.0) -> dict[str, Any]:
    """Explain a head of the base that has these kernels, as a comparison keeps it."""
    pair = [profile(KERNELS, NODES, name="base"), profile(head, nodes, latency_s=latency_s, name="head")]
    return explain(pair, fuses_alike=True).to_dict()
