"""Follow a search: how far it is, which kernel is worth the next trials, and when it has nothing more to find."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pytest_ngraph.clock import Clock
from pytest_ngraph.compilers.tvm.database import FAILED_S

GAIN_WEIGHT = 0.2
GAIN_WINDOW = 48
"""Trials over which a kernel's recent gain is averaged: three rounds, as in MetaSchedule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A search after some trials.

    Attributes:
        trials: candidates measured so far, including earlier runs.
        limit: candidates allowed.
        rules_s: seconds that all kernels of the model take together with the schedules by rule.
        best_s: the same with the best schedules found.
        left_s: seconds to the limit at the speed of this run; None before the first trial.
    """

    trials: int
    limit: int
    rules_s: float
    best_s: float
    left_s: float | None = None

    @property
    def gain(self) -> float:
        """How many times faster the kernels are than with the schedules by rule."""
        return self.rules_s / self.best_s

    def __str__(self) -> str:
        best = f"best {self.best_s * 1000:.2f} ms ({self.gain:.2f} x the rules)"
        return f"{self.trials} of {self.limit} trials, {best}{_left(self.left_s)}"


def _left(seconds: float | None) -> str:
    if not seconds:
        return ""
    return f", at most {seconds / 60:.0f} min left" if seconds >= 120 else f", at most {seconds:.0f} s left"


@dataclass(slots=True)
class Watch:
    """Follows a search, reports its progress to the listener, and knows when the search is over.

    Attributes:
        rules_s: seconds of each kernel by rule.
        calls: how often the model runs each kernel.
        limit: trials, in all runs together, after which the search is over.
        patience: trials without gain after which the search is over.
        listener: called with the progress after each round.
        trials: trials so far, in all runs together.
    """

    rules_s: list[float]
    calls: list[int]
    limit: int
    patience: int
    listener: Callable[[Progress], None]
    clock: Clock = time.monotonic
    trials: int = field(default=0, init=False)
    _best_s: list[list[float]] = field(init=False)
    _earlier: int = field(default=0, init=False)
    _last_gain: int = field(default=0, init=False)
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        self._best_s = [[seconds] for seconds in self.rules_s]
        self._started = self.clock()

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached, or the best has stalled."""
        return self.trials >= self.limit or self.trials - self._last_gain >= self.patience

    def recall(self, kernel: int, seconds: float) -> None:
        """Add a trial of an earlier run."""
        self._note(kernel, seconds)
        self._earlier = self.trials

    def measured(self, kernel: int, seconds: Iterable[float]) -> None:
        """Add a round of trials of one kernel, and report the progress to the listener."""
        for each in seconds:
            self._note(kernel, each)
        self.listener(self.progress())

    def most_promising(self, kernels: Iterable[int]) -> int:
        """Return the kernel whose next trials may gain most for the model."""
        return max(kernels, key=lambda kernel: self.calls[kernel] * promise(self._best_s[kernel]))

    def progress(self) -> Progress:
        done = self.trials - self._earlier
        left = max(0, self.limit - self.trials) * (self.clock() - self._started) / done if done else None
        return Progress(
            trials=self.trials,
            limit=self.limit,
            rules_s=self._total(self.rules_s),
            best_s=self._total(best[-1] for best in self._best_s),
            left_s=left,
        )

    def _note(self, kernel: int, seconds: float) -> None:
        best = self._best_s[kernel]
        self.trials += 1
        if seconds < best[-1]:
            self._last_gain = self.trials
        best.append(min(seconds, best[-1]))

    def _total(self, seconds: Iterable[float]) -> float:
        """Return the seconds of all calls of the kernels whose schedule by rule could be timed."""
        kernels = zip(self.calls, seconds, self.rules_s, strict=True)
        return sum(calls * each for calls, each, rule_s in kernels if rule_s < FAILED_S)


def promise(best_s: list[float]) -> float:
    """Return the seconds that one more trial of a kernel may gain.

    The estimate is that of MetaSchedule's scheduler (after Ansor, Zheng et al., OSDI 2020, appendix A): the average
    gain of recent trials, weighed with the hope that as many trials again could save all of the remaining time. It is 0
    for a kernel of which no schedule could be timed.

    Args:
        best_s: the kernel's best time by rule, and after each trial so far.
    """
    trials = len(best_s)
    if best_s[-1] >= FAILED_S:
        return 0.0
    recent = (best_s[-1 - GAIN_WINDOW] - best_s[-1]) / GAIN_WINDOW if trials > GAIN_WINDOW else best_s[-1] / GAIN_WINDOW
    return GAIN_WEIGHT * recent + (1 - GAIN_WEIGHT) * best_s[-1] / trials
