"""Profile measured cases in turn: each compiled again or from the cache, and instrumented beside the timed model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.compiled_again import answer, export, prepare
from pytest_ngraph.bench.lock import OTHERS_MEASURE, exclusive
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.scratch import Scratch
from pytest_ngraph.bench.workers import Workers
from pytest_ngraph.case import Case
from pytest_ngraph.clock import Clock
from pytest_ngraph.profile import Block, Kernel, Node, Profile
from pytest_ngraph.settings import Settings
from pytest_ngraph.stats import FEWEST_ROUNDS
from pytest_ngraph.worker.measure import iterations_per_round

BUDGET_S = 4.0
"""Seconds of blocks, after which no further one begins, once there are enough for an interval."""
MOST_BLOCKS = 12


@dataclass(slots=True)
class _Arm:
    """A case that is profiled.

    Attributes:
        calls: calls of a burst.
    """

    case: Case
    artifact: Artifact
    target: Target
    workers: Workers
    settings: Settings
    calls: int = 1
    nodes: tuple[Node, ...] = ()
    blocks: list[Block] = field(default_factory=list)

    def instrument(self) -> None:
        described: dict[str, Any] = {
            "case": self.case.to_dict(),
            "artifact": self.artifact.to_dict(),
            "target": self.target.to_dict(),
        }
        self.nodes = tuple(map(Node.from_dict, self._ask("instrument", **described)["nodes"]))
        self.calls = iterations_per_round(self._latency_s(), self.settings.round_s)

    def run_block(self) -> None:
        latency_s = self._latency_s()
        kernels = self._ask("profile", calls=self.calls)["kernels"]
        self.blocks.append(Block(latency_s=latency_s, kernels=tuple(map(Kernel.from_dict, kernels))))

    def _latency_s(self) -> float:
        seconds: float = self._ask("measure", calls=self.calls)["elapsed_s"]
        return seconds / self.calls

    def _ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        def ask() -> dict[str, Any]:
            worker = self.workers.resident(self.case.compiler, self.target)
            return worker.request(do, timeout_s=self.settings.timeout_s, phase="measure", **arguments)

        return answer(self.case, "profiled", ask)


def explaining(
    cases: Sequence[tuple[Case, Target]],
    settings: Settings,
    graph: str,
    progress: Progress,
    clock: Clock = time.perf_counter,
) -> list[Profile]:
    """Return the profiles of one case, or of two of one workload, whose blocks run in turn.

    Args:
        graph: digest of the graph and weights that were measured.

    Raises:
        UsageError: the workload is another one than was measured, or a case cannot be compiled or profiled.
        NgraphError: building, compiling, verifying or profiling fails.
    """
    with (
        exclusive(lambda: progress.waiting(OTHERS_MEASURE)),
        closing(Scratch()) as scratch,
        closing(Workers(scratch.folder, settings.memory_bytes)) as workers,
    ):
        (first, on), *_ = cases
        artifact = export(workers, scratch.folder / "group", first, on, settings, graph, "explain", progress)
        arms = [_Arm(case, artifact, target, workers, settings) for case, target in cases]
        for arm in arms:
            prepare(workers, artifact, arm.case, arm.target, settings, progress)
            arm.instrument()
        run_in_turn(arms, progress, clock)
    return [Profile(name=arm.case.compiler, nodes=arm.nodes, blocks=tuple(arm.blocks)) for arm in arms]


def run_in_turn(arms: Sequence[_Arm], progress: Progress, clock: Clock) -> None:
    """Run blocks of all arms, each time in the other order, so that a drift cancels in their differences."""
    began = clock()
    for block in range(MOST_BLOCKS):
        if block >= FEWEST_ROUNDS and clock() - began > BUDGET_S:
            break
        for arm in arms[:: -1 if block % 2 else 1]:
            arm.run_block()
            progress.measuring(arm.case, (block + 1) / MOST_BLOCKS)
