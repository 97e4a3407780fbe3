"""The rule for verdicts: margin and error levels, and how many launches a cell may take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from pytest_ngraph.comparison import Comparison, Launch, Placement
from pytest_ngraph.errors import UsageError
from pytest_ngraph.gate.pooling import Prior
from pytest_ngraph.metrics.between import PAIR

PRIORS: Mapping[Placement, Prior] = {"together": Prior(0.0025, 8), "apart": Prior(*PAIR)}
"""For machines that were not calibrated. Launches with both arms in one process spread by 0.2 % beyond their own error:
on a quiet machine, under bursts of other work and with a busy core, and equally for every cell. Launches with the arms
in two processes spread by 1.6 %."""

WIDENING = 2.0
"""By how many times the spread of processes the margin is widened where the arms run in two. By less, and equal code
would often stay undecided."""

LOOKS = (3, 5, 8, 13, 21, 34)
"""A regression may be called after these numbers of fresh launches, and after the last launch.

Each look at the data is one more chance of a false alarm, so it costs a share of the error level. Looks close together
see nearly the same data and are not worth that; a single look at the end would need the most launches.
"""


MOST_LAUNCHES = 8
"""Fresh launches that a cell may take, unless more are asked for."""


class Look(NamedTuple):
    """A point at which a regression may be called.

    Attributes:
        launches: the number of fresh launches after which it comes.
        share: the share of the error level that is spent on it.
    """

    launches: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The rule for verdicts.

    Attributes:
        margin: tolerated slowdown, as a share.
        level: chance, over all cells of the run, of calling a cell regressed whose slowdown is within the margin.
        miss: chance, at each decision, of calling a cell unchanged whose slowdown exceeds the margin.
        cells: number of cells that the run compares.
        rejected: how many of them were called regressed so far.
        most_launches: number of fresh launches that a cell may take.
        two_sided: whether a cell is unchanged only if it is surely not faster by more than the margin either.
        priors: what is known of the machine, for each placement.
    """

    margin: float = 0.01
    level: float = 0.01
    miss: float = 0.05
    cells: int = 1
    rejected: int = 0
    most_launches: int = MOST_LAUNCHES
    two_sided: bool = False
    priors: Mapping[Placement, Prior] = field(default_factory=lambda: PRIORS)

    def __post_init__(self) -> None:
        if self.most_launches < LOOKS[0]:
            raise UsageError(
                f"at most {self.most_launches} launches were allowed, but calling a regression takes at least "
                f"{LOOKS[0]}, each in its own process"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as JSON-ready data."""
        priors = {placement: list(prior) for placement, prior in self.priors.items()}
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"priors": priors}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Rule:
        """Return the rule from the data of `to_dict`."""
        return cls(**data | {"priors": {placement: Prior(*prior) for placement, prior in data["priors"].items()}})

    @property
    def limit(self) -> float:
        """The margin as a log ratio."""
        return math.log1p(self.margin)

    def applied_to(self, comparison: Comparison) -> Rule:
        """Return the rule for one comparison.

        With the arms in two processes, the margin is widened by `WIDENING` times how much processes of the same code
        differ. A case that is compared in two ways shares its error level between them.
        """
        apart = comparison.placement == "apart"
        margin = self.margin + (WIDENING * self.priors["apart"].spread if apart else 0.0)
        return replace(self, margin=margin, level=self.level * comparison.share)

    @property
    def corrected_level(self) -> float:
        """The error level that Holm (1979) leaves for the next cell.

        Cells may be judged in the order in which they come: a cell that is rejected now would also be rejected in the
        order of p-values, where at least as many rejected cells precede it.
        """
        return self.level / max(1, self.cells - self.rejected)

    def looks_due(self, fresh: int, *, last: bool) -> tuple[Look, ...]:
        """Return the looks that are due after this many fresh launches.

        Args:
            last: whether no more launches come, so that the rest of the error level is spent now.
        """
        due = tuple(look for look in self.looks if look.launches <= fresh)
        if not last or fresh < LOOKS[0]:
            return due
        earlier = tuple(look for look in due if look.launches < fresh)
        return (*earlier, Look(fresh, 1 - sum(look.share for look in earlier)))

    @property
    def looks(self) -> tuple[Look, ...]:
        """The looks at a cell. The level spent up to a look grows with the square of its launches.

        So most of it is left for the end, where small slowdowns need it; large ones are still called early.
        """
        sizes = [size for size in LOOKS if size < self.most_launches] + [self.most_launches]
        spent = [(size / self.most_launches) ** 2 for size in sizes]
        return tuple(Look(size, now - before) for size, now, before in zip(sizes, spent, [0.0, *spent], strict=False))


MOST_MEASURED_S = 10.0
"""The most seconds of all launches of a cell together, where it may take as many as usual; the fewest launches that a
regression takes may exceed it."""


def is_spent(launches: Sequence[Launch], rule: Rule) -> bool:
    """Return whether no launch may be added, which depends on their number and length only, never on their results."""
    fresh = sum(launch.fresh for launch in launches)
    seconds = [launch.elapsed_s for launch in launches]
    most_s = MOST_MEASURED_S * rule.most_launches / MOST_LAUNCHES
    late = sum(seconds) + max(seconds, default=0.0) > most_s
    return fresh >= rule.most_launches or (late and fresh >= LOOKS[0])
