"""What base against base tells of a machine: how much launches spread, and how often the gate is wrong."""

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
"""No machine's launches agree better than this; less was seen by chance."""
MOST_DOF = 8.0
"""However many launches were seen: cells of one machine differ in spread, so that a cell's own launches must count."""


def estimate_spread(comparisons: Iterable[Comparison]) -> Prior:
    """The standard deviation between launches, beyond the error within them, of comparisons of base against base.

    The truth is a log ratio of 0 there, so each launch is worth a degree of freedom, and what favours one arm always
    counts as well. Raises ValueError without launches.
    """
    found = [effect for comparison in comparisons for effect in effects(comparison.launches)]
    if not found:
        raise ValueError("a spread needs launches")
    excess = sum(effect.log_ratio**2 - effect.standard_error**2 for effect in found) / len(found)
    return Prior(max(LEAST_SPREAD, math.sqrt(max(0.0, excess))), min(MOST_DOF, len(found)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """machine: its fingerprint. priors: the spread seen, for each placement that was measured. cells: how many
    comparisons of base against base. false_alarms: how many of them were called regressed or improved. when: ISO 8601.
    """

    machine: str
    priors: Mapping[Placement, Prior]
    cells: int
    false_alarms: int
    when: str

    @property
    def text(self) -> str:
        """What it found, in a sentence without its end."""
        spreads = (f"launches spread by {100 * prior.spread:.2f} % {name}" for name, prior in self.priors.items())
        return f"{', '.join(spreads)}; {counted(self.false_alarms, 'false alarm')} in {counted(self.cells, 'case')}"

    def applied(self, rule: Rule) -> Rule:
        """The rule for this machine."""
        return replace(rule, priors={**rule.priors, **self.priors})

    def to_dict(self) -> dict[str, Any]:
        """The calibration as JSON-ready data."""
        priors = {placement: prior._asdict() for placement, prior in self.priors.items()}
        return asdict(replace(self, priors={})) | {"priors": priors}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Calibration:
        """The inverse of `to_dict`."""
        return cls(**data | {"priors": {placement: Prior(**prior) for placement, prior in data["priors"].items()}})


def calibrate(measured: Sequence[tuple[Case, Comparison]], rule: Rule, *, machine: str, when: str) -> Calibration:
    """The calibration that comparisons of base against base give; `rule` is the one that raises the false alarms."""
    comparisons = [comparison for _, comparison in measured]
    by_placement = {
        placement: [each for each in comparisons if each.placement == placement and each.launches]
        for placement in get_args(Placement)
    }
    priors: dict[Placement, Prior] = {name: estimate_spread(group) for name, group in by_placement.items() if group}
    alarms = [verdict(case, comparison, rule).name in ("regressed", "improved") for case, comparison in measured]
    return Calibration(machine=machine, priors=priors, cells=len(measured), false_alarms=sum(alarms), when=when)
