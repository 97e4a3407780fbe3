"""What comparing base with base shows of a machine: how much launches spread, and how often the gate is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison, Placement
from pytest_ngraph.gate.launches import effects
from pytest_ngraph.gate.pooling import Prior
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.verdict import verdict
from pytest_ngraph.wording import counted

LEAST_SPREAD = 0.0005
"""The least spread that is believed: no machine's launches agree better, except by chance."""
MOST_DOF = 8.0
"""The most degrees of freedom, however many launches were seen: cells of one machine differ in spread, so that a cell's
own launches must count."""


def estimate_spread(comparisons: Iterable[Comparison]) -> Prior:
    """Return the standard deviation between launches, beyond the error within them, from comparing base with base.

    The true log ratio is 0 there. So each launch is worth one degree of freedom, and a difference that always favours
    the same arm counts as spread, too.

    Raises:
        ValueError: there are no launches.
    """
    found = [effect for comparison in comparisons for effect in effects(comparison.launches)]
    if not found:
        raise ValueError("a spread needs launches")
    excess = sum(effect.log_ratio**2 - effect.standard_error**2 for effect in found) / len(found)
    return Prior(max(LEAST_SPREAD, math.sqrt(max(0.0, excess))), min(MOST_DOF, len(found)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What comparing base with base found on a machine.

    Attributes:
        machine: fingerprint of the machine.
        priors: the spread seen, for each placement that was measured.
        cells: number of comparisons of base with base.
        false_alarms: how many of them were called regressed or improved.
        when: date and time in ISO 8601.
    """

    machine: str
    priors: Mapping[Placement, Prior]
    cells: int
    false_alarms: int
    when: str

    @property
    def text(self) -> str:
        """What was found, as a sentence without its full stop."""
        spreads = (f"launches spread by {100 * prior.spread:.2f} % {name}" for name, prior in self.priors.items())
        return f"{', '.join(spreads)}; {counted(self.false_alarms, 'false alarm')} in {counted(self.cells, 'case')}"

    def applied(self, rule: Rule) -> Rule:
        """Return the rule with this machine's priors."""
        return replace(rule, priors={**rule.priors, **self.priors})

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as JSON-ready data."""
        priors = {placement: prior._asdict() for placement, prior in self.priors.items()}
        return asdict(replace(self, priors={})) | {"priors": priors}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Calibration:
        """Return the calibration from the data of `to_dict`."""
        return cls(**data | {"priors": {placement: Prior(**prior) for placement, prior in data["priors"].items()}})


def calibrate(measured: Sequence[tuple[Case, Comparison]], rule: Rule, *, machine: str, when: str) -> Calibration:
    """Return the calibration that follows from comparisons of base with base.

    Args:
        rule: the rule by which false alarms are counted.
    """
    comparisons = [comparison for _, comparison in measured]
    by_placement = {
        placement: [each for each in comparisons if each.placement == placement and each.launches]
        for placement in get_args(Placement)
    }
    priors: dict[Placement, Prior] = {name: estimate_spread(group) for name, group in by_placement.items() if group}
    alarms = [verdict(case, comparison, rule).name in ("regressed", "improved") for case, comparison in measured]
    return Calibration(machine=machine, priors=priors, cells=len(measured), false_alarms=sum(alarms), when=when)
