"""When a verdict is called: margin and levels, and how many launches a cell may take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from pytest_ngraph.comparison import Launch, Placement
from pytest_ngraph.errors import UsageError
from pytest_ngraph.gate.pooling import Prior

PRIORS: Mapping[Placement, Prior] = {"together": Prior(0.0025, 8), "apart": Prior(0.016, 4)}
"""For machines that were not calibrated. Beyond their errors, launches of one process spread by 0.2 %, on a quiet
machine, under bursts of other work and with a core busy, and one cell as the other; those of two spread by 1.6 %."""

LOOKS = (3, 5, 8, 13, 21, 34)
"""After how many fresh launches a regression may be called, and after the last one.

Each look at the data is one more chance of a false alarm and costs level. Looks that are close together see much the
same, and so are not worth it; a single one at the end needs the most launches.
"""


class Look(NamedTuple):
    """launches: after how many fresh ones. share: of the level that is spent here."""

    launches: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When a verdict is called.

    margin: slowdown that is tolerated, as a share. level: chance, over all cells of the run, of calling one regressed
    whose slowdown is no more than that. miss: chance, each time it is asked, of calling one unchanged that is slower by
    more. cells: how many the run compares. rejected: how many of them were called regressed so far.
    most_launches: fresh ones that a cell may take. priors: what is known of the machine.
    """

    margin: float = 0.01
    level: float = 0.01
    miss: float = 0.05
    cells: int = 1
    rejected: int = 0
    most_launches: int = 8
    priors: Mapping[Placement, Prior] = field(default_factory=lambda: PRIORS)

    def __post_init__(self) -> None:
        if self.most_launches < LOOKS[0]:
            raise UsageError(
                f"a most of {self.most_launches} launches: calling a regression takes at least {LOOKS[0]}, each in a "
                "process of its own"
            )

    def to_dict(self) -> dict[str, Any]:
        """The rule as JSON-ready data."""
        priors = {placement: list(prior) for placement, prior in self.priors.items()}
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"priors": priors}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Rule:
        """The inverse of `to_dict`."""
        return cls(**data | {"priors": {placement: Prior(*prior) for placement, prior in data["priors"].items()}})

    @property
    def limit(self) -> float:
        """The margin as a log ratio."""
        return math.log1p(self.margin)

    @property
    def corrected_level(self) -> float:
        """What Holm (1979) leaves for the next cell. It may be spent on cells in the order in which they come: one that
        passes now would pass in the order of p-values too, where at least as many came before it."""
        return self.level / max(1, self.cells - self.rejected)

    def looks_due(self, fresh: int, *, last: bool) -> tuple[Look, ...]:
        """Those after so many fresh launches. last: whether no more come, so that all of the level is spent by then."""
        due = tuple(look for look in self.looks if look.launches <= fresh)
        if not last or fresh < LOOKS[0]:
            return due
        earlier = tuple(look for look in due if look.launches < fresh)
        return (*earlier, Look(fresh, 1 - sum(look.share for look in earlier)))

    @property
    def looks(self) -> tuple[Look, ...]:
        """The looks at a cell and how the level is shared between them, growing with the square of their launches:
        most of it is left for the end, where small slowdowns need it, and large ones are called early all the same."""
        sizes = [size for size in LOOKS if size < self.most_launches] + [self.most_launches]
        spent = [(size / self.most_launches) ** 2 for size in sizes]
        return tuple(Look(size, now - before) for size, now, before in zip(sizes, spent, [0.0, *spent], strict=False))


MOST_MEASURED_S = 10.0
"""Seconds of all launches together, but for the fewest that a regression takes."""


def is_spent(launches: Sequence[Launch], rule: Rule) -> bool:
    """Whether no launch may be added. That is a matter of their number and length, never of what they found."""
    fresh = sum(launch.fresh for launch in launches)
    seconds = [launch.elapsed_s for launch in launches]
    late = sum(seconds) + max(seconds, default=0.0) > MOST_MEASURED_S
    return fresh >= rule.most_launches or (late and fresh >= LOOKS[0])
