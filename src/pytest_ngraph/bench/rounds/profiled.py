"""Models that were prepared are profiled in turn: each is instrumented beside the model as it is timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pytest_ngraph.artifact import Artifact, Node, Target
from pytest_ngraph.case import Case
from pytest_ngraph.clock import Clock
from pytest_ngraph.explain.profile import Block, Kernel, Profile
from pytest_ngraph.stats import FEWEST_ROUNDS
from pytest_ngraph.worker.measure import iterations_per_round

BUDGET_S, ALONE_S = 4.0, 2.5
"""Seconds of blocks, after which no further one begins, once there are enough for an interval: of models that run in
turn, and of one alone."""
MOST_BLOCKS = 20
BLOCK_S = 0.05
"""Target length of the calls of a block, without the profiler and again with it."""


class Ask(Protocol):
    """Sends a request to the worker that holds the model, and returns the answer."""

    def __call__(self, do: str, **arguments: Any) -> dict[str, Any]: ...


class ProfiledModel:
    """A model that a worker holds, instrumented once more beside it.

    Args:
        name: what its profile is called.
        case: what the model was prepared for, as are `artifact` and `target`.
    """

    def __init__(self, name: str, ask: Ask, case: Case, artifact: Artifact, target: Target) -> None:
        self._name = name
        self._ask = ask
        self._blocks: list[Block] = []
        self._uncounted = ""
        described: dict[str, Any] = {"case": case.to_dict(), "artifact": artifact.to_dict(), "target": target.to_dict()}
        self._nodes = tuple(map(Node.from_dict, ask("instrument", **described)["nodes"]))
        self._calls = 1
        self._calls = iterations_per_round(self._latency_s(), BLOCK_S)

    @property
    def profile(self) -> Profile:
        """What was profiled so far."""
        return Profile(name=self._name, nodes=self._nodes, blocks=tuple(self._blocks), uncounted=self._uncounted)

    def run_block(self) -> None:
        """Time some calls, then profile as many."""
        timed = self._ask("measure", calls=self._calls, counts=True)
        kernels = self._ask("profile", calls=self._calls)["kernels"]
        self._uncounted = timed["uncounted"]
        self._blocks.append(
            Block(
                latency_s=timed["elapsed_s"] / self._calls,
                kernels=tuple(map(Kernel.from_dict, kernels)),
                counters={name: count / self._calls for name, count in timed["counters"].items()},
            )
        )

    def _latency_s(self) -> float:
        seconds: float = self._ask("measure", calls=self._calls)["elapsed_s"]
        return seconds / self._calls


class Profiled(Protocol):
    """What runs in turn."""

    def run_block(self) -> None: ...


def run_in_turn(
    models: Sequence[Profiled],
    notify: Callable[[float], None] = lambda share: None,
    clock: Clock = time.perf_counter,
) -> None:
    """Run blocks of all models, each time in the other order, so that a drift cancels in their differences.

    Args:
        notify: is called with the share of the blocks that have run.
    """
    began, budget_s = clock(), BUDGET_S if len(models) > 1 else ALONE_S
    for block in range(MOST_BLOCKS):
        if block >= FEWEST_ROUNDS and clock() - began > budget_s:
            break
        for model in models[:: -1 if block % 2 else 1]:
            model.run_block()
        notify((block + 1) / MOST_BLOCKS)
