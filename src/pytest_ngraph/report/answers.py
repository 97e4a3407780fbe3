"""What to deploy for one workload on one device: for each goal the best case, and which others may be as good.

The terminal and the page both take their answers from here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pytest_ngraph.case import SERVING, Case
from pytest_ngraph.metrics.between import Between, surely_above
from pytest_ngraph.metrics.load import MAX_RATE
from pytest_ngraph.stats import Estimate

Of = TypeVar("Of")
Goal = Literal["lowest latency", "highest throughput", "highest rate"]
Sureness = Literal["sure", "too close", "only one"]
"""Only one: no other compiler was measured."""


def judged_by(case: Case) -> str:
    """Return the metric by which a case is compared with others: its throughput, or under load its highest rate."""
    return MAX_RATE if case.objective == SERVING else "throughput"


@dataclass(frozen=True, slots=True)
class Candidate(Generic[Of]):
    """A measured case that might be deployed.

    Attributes:
        throughput: samples per second; under load, the highest rate of requests that keeps the limit.
        of: where the candidate comes from.
        steepness: by how many percent `throughput` changes if a call takes 1 % longer.
        session: in which session it was measured.
    """

    compiler: str
    batch_size: int
    objective: str
    throughput: Estimate
    of: Of
    steepness: float = 1.0
    session: str = ""

    @property
    def latency_s(self) -> float | None:
        """Seconds of an iteration; None where several run side by side, which says nothing about one."""
        return self.batch_size / self.throughput.value if self.objective == "latency" else None


@dataclass(frozen=True, slots=True)
class Answer(Generic[Of]):
    """The best case for a goal.

    Attributes:
        runner_up: the fastest case of all other compilers; None without any.
        rivals: the best cases of other compilers that other processes might show to be as fast, the fastest first.
    """

    goal: Goal
    best: Candidate[Of]
    runner_up: Candidate[Of] | None
    rivals: tuple[Candidate[Of], ...]

    @property
    def is_sure(self) -> bool:
        """Whether it would be faster than every other compiler's best in other processes, too. Alone, it is not."""
        return self.runner_up is not None and not self.rivals

    @property
    def is_close(self) -> bool:
        """Whether another compiler may be as fast."""
        return bool(self.rivals)

    @property
    def lead(self) -> float:
        """How much less throughput the runner-up has, as a share; 1 without one."""
        return self.behind(self.runner_up) if self.runner_up else 1.0

    @property
    def verdict(self) -> Sureness:
        return "sure" if self.is_sure else "too close" if self.is_close else "only one"

    def behind(self, other: Candidate[Of]) -> float:
        """Return how much less throughput another candidate has, as a share."""
        return 1 - other.throughput.value / self.best.throughput.value


def answers(candidates: Sequence[Candidate[Of]], between: Between) -> Iterator[Answer[Of]]:
    """Yield the answer to each goal, from all measured cases of one workload on one device in one precision.

    The lowest latency is that at the smallest batch size that was measured one call at a time. Without such a case,
    only the highest throughput is answered. Cases under load are compared by their highest rates alone.
    """
    under_load = [each for each in candidates if each.objective == SERVING]
    if under_load:
        yield _answer("highest rate", under_load, between)
    candidates = [each for each in candidates if each.objective != SERVING]
    alone = [each for each in candidates if each.objective == "latency"]
    if alone:
        smallest = min(each.batch_size for each in alone)
        # Of one call at a time at one batch size, the highest throughput is the lowest latency.
        yield _answer("lowest latency", [each for each in alone if each.batch_size == smallest], between)
    if candidates:
        yield _answer("highest throughput", candidates, between)


def _answer(goal: Goal, candidates: Iterable[Candidate[Of]], between: Between) -> Answer[Of]:
    best_of_each: dict[str, Candidate[Of]] = {}
    for each in sorted(candidates, key=lambda each: -each.throughput.value):
        best_of_each.setdefault(each.compiler, each)
    best, *others = best_of_each.values()
    steepness = [each.steepness for each in (best, *others)]
    sessions = [each.session for each in (best, *others)]
    lower = surely_above(best.throughput, [each.throughput for each in others], between, steepness, sessions)
    rivals = tuple(each for each, is_lower in zip(others, lower, strict=True) if not is_lower)
    return Answer(goal, best, others[0] if others else None, rivals)


def winners(found: Iterable[Answer[Of]]) -> list[tuple[str, int, int]]:
    """Return which compilers are best, how often and how often surely, the one that is it most often first."""
    kept = list(found)
    sure = Counter(answer.best.compiler for answer in kept if answer.is_sure)
    wins = Counter(answer.best.compiler for answer in kept)
    return [(name, count, sure[name]) for name, count in wins.most_common()]
