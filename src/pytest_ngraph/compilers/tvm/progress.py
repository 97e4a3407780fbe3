"""How far a search is, and when it has nothing more to find."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_ngraph.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A search after some trials.

    trials, limit: candidates measured so far, in earlier runs too, and those allowed.
    rules_s, best_s: seconds that all kernels of the model take together, by rule and with the best schedules found.
    left_s: seconds to the limit at the speed of this run; None before the first trial.
    """

    trials: int
    limit: int
    rules_s: float
    best_s: float
    left_s: float | None = None

    @property
    def gain(self) -> float:
        """How many times faster the kernels are than by rule."""
        return self.rules_s / self.best_s

    def __str__(self) -> str:
        left = "" if self.left_s is None else f", at most {self.left_s / 60:.0f} min left"
        best = f"best {self.best_s * 1000:.2f} ms ({self.gain:.2f} x the rules)"
        return f"{self.trials} of {self.limit} trials, {best}{left}"


Listener = Callable[[Progress], None]


def print_progress(progress: Progress) -> None:
    """A line on standard error."""
    print(f"tvm tuning: {progress}", file=sys.stderr, flush=True)


class NoGain(Exception):
    """The search ended early: its last trials found nothing."""


@dataclass(slots=True)
class Watch:
    """Follows a search: tells the listener of its progress, and ends it when the best stalls.

    rules_s, best_s: seconds of each kernel by rule, and with its fastest schedule so far.
    weights: how often the model calls each kernel. trials: those done, at first by earlier runs.
    patience: trials without gain after which it ends.
    """

    rules_s: list[float]
    best_s: list[float]
    weights: list[int]
    trials: int
    limit: int
    patience: int
    listener: Listener
    clock: Clock = time.monotonic
    _started: tuple[int, float] = field(init=False)
    _last_gain: int = field(init=False)

    def __post_init__(self) -> None:
        self._started = self.trials, self.clock()
        self._last_gain = self.trials

    def measured(self, kernel: int, seconds: list[float]) -> None:
        """Take note of trials of one kernel; a candidate that failed took infinitely long.

        Raise `NoGain` when the search should end.
        """
        self.trials += len(seconds)
        fastest = min(seconds, default=float("inf"))
        if fastest < self.best_s[kernel]:
            self.best_s[kernel] = fastest
            self._last_gain = self.trials
        self.listener(self.progress())
        if self.trials - self._last_gain >= self.patience:
            raise NoGain(f"no gain in {self.patience} trials")

    def progress(self) -> Progress:
        before, started = self._started
        done = self.trials - before
        left = max(0, self.limit - self.trials) * (self.clock() - started) / done if done else None
        return Progress(
            trials=self.trials,
            limit=self.limit,
            rules_s=self._total(self.rules_s),
            best_s=self._total(self.best_s),
            left_s=left,
        )

    def _total(self, seconds: list[float]) -> float:
        """Seconds of all kernels together, as often as the model calls them."""
        return sum(weight * each for weight, each in zip(self.weights, seconds, strict=True))
