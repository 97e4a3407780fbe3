"""The parts of a record: how a case ended, its rounds, its failure, and what was known while it was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pytest_ngraph.comparison import is_contended, is_stolen

Outcome = Literal["measured", "unchanged", "failed", "skipped"]
"""Unchanged: the base has the same graph, weights, options and compiler, so that nothing needed measuring."""
NOT_FAILED = ("unchanged", "skipped")
"""Outcomes of cases without a measurement that nobody has to look at."""
SHARING = 2.0
"""How many times as long a task may take at most because another one shares its core's units and caches."""
HIDDEN = "hidden"
"""The fact that names the parameters next to zero: what they scale may be wrong, and the outputs would still agree."""
RANDOM = "random"
"""The fact that names the outputs whose values are drawn in each call, so that they are not compared."""
STATE = "state"
"""The fact that names what each call of the module changes, if its outputs depend on what was there before."""
DRAWN = "inputs"
"""The fact that says what integer and Boolean inputs were drawn as, and why: `ids: ids below 1000 (index embed)`."""
Phase = Literal["build", "compile", "warm-up", "verify", "measure"]
FailureKind = Literal["raised", "crashed", "timed out", "out of memory", "disagreed"]
PASSING: tuple[FailureKind, ...] = ("crashed", "timed out", "out of memory")
"""Kinds of failures that may have been chance: a busy machine, memory that others held, a race."""


class Round(NamedTuple):
    """One timed burst: `iterations` runs that together took `elapsed_s` seconds."""

    iterations: int
    elapsed_s: float

    @property
    def sample_s(self) -> float:
        """Seconds per iteration."""
        return self.elapsed_s / self.iterations


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a case has no measurement.

    Attributes:
        phase: the phase in which the case failed.
        kind: how it failed.
        message: the error in words.
        stderr_tail: the end of what it wrote to standard error.
    """

    phase: Phase
    kind: FailureKind
    message: str
    stderr_tail: str = ""

    @property
    def in_one_line(self) -> str:
        return f"{self.kind} in {self.phase}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How close the timed artifact's outputs are to eager PyTorch's in fp32.

    Attributes:
        error: the largest absolute difference over the largest absolute reference value, of the worst output.
        tolerance: the error allowed at this precision.
        problem: what differs, in words; empty when the outputs agree.
        undecided: names of outputs of which only the form was compared: all scores tie, so that rounding alone chooses
            which rows they have.
        differing: the largest share of an output's integers, or Booleans, that are not those of eager PyTorch in fp32.
    """

    error: float
    tolerance: float
    problem: str = ""
    undecided: str = ""
    differing: float = 0.0

    @property
    def agrees(self) -> bool:
        return not self.problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Contention:
    """Other load on the machine while the rounds ran. A value is None where the kernel does not report it.

    Attributes:
        pressure_percent: share of the time in which some task of our control group waited for a CPU (`cpu.pressure`);
            of the whole machine, if the kernel does not report it by group (`/proc/pressure/cpu`).
        steal_percent: share of the machine's CPU time that the hypervisor gave to others (`/proc/stat`).
        involuntary_switches: how often the worker was taken off a core (`ru_nivcsw`).
        throttles: how often a core or processor was slowed down because it was hot (`thermal_throttle`).
        asleep_s: seconds that the machine was suspended. They are not part of any measured time.
        throttled_rounds: rounds at whose end clocks were held down by heat; 0 also where nothing reports it.
        throttled_by: what held them down, such as `GPU hardware thermal slowdown, cpufreq-cpu0`.
        others_on_gpu: other processes that computed on the GPU when the rounds began; None where that is not known.
    """

    pressure_percent: float | None = None
    steal_percent: float | None = None
    involuntary_switches: int | None = None
    throttles: int | None = None
    asleep_s: float | None = None
    throttled_rounds: int = 0
    throttled_by: str = ""
    others_on_gpu: int | None = None

    @property
    def is_busy(self) -> bool:
        """Whether the kernel reported other work on the cores, or heat held clocks down."""
        return self.most_slowed > 1

    @property
    def most_slowed(self) -> float:
        """By how many times as long as on a quiet machine the rounds may have taken at most: 1 on a quiet machine.

        Under CPU pressure, all the time in which some task waited may be lost, and the rest may run half as fast,
        because cores share units and caches. It is infinite for steal, heat and other processes on a GPU: how much of
        one core's or the GPU's time these took is not known.
        """
        if self.throttled_rounds or self.others_on_gpu or is_stolen(self.steal_percent):
            return math.inf
        if not is_contended(self.pressure_percent, self.steal_percent):
            return 1.0
        lost = (self.pressure_percent or 0.0) / 100
        return SHARING / (1 - lost) if lost < 1 else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmup:
    """Untimed iterations before the rounds. `steady` is false if the budget ended before the times settled."""

    iterations: int
    elapsed_s: float
    steady: bool
