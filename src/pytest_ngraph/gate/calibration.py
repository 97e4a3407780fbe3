"""What comparing base with base shows of a machine: how much launches spread, and how often the gate is wrong."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison, Launch, Placement
from pytest_ngraph.gate.launches import effects
from pytest_ngraph.gate.pooling import Prior
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.verdict import verdict
from pytest_ngraph.metrics.between import IN_GENERAL, LEAST_SPREAD, MOST_DOF, Between, Spread, Squares
from pytest_ngraph.wording import counted


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


def estimate_processes(comparisons: Iterable[Comparison]) -> Spread:
    """Return the standard deviation of the logarithm of a case's time between processes, from comparing it with itself.

    What is known of machines in general moderates it, as in Smyth (2004).
    """
    squares = Squares()
    for comparison in comparisons:
        logs = [log_seconds for launch in comparison.launches if (log_seconds := _log_seconds(launch)) is not None]
        if len(logs) > 1:
            squares.add(statistics.variance(logs) * (len(logs) - 1), len(logs) - 1)
    return squares.moderating(IN_GENERAL.process)


def _log_seconds(launch: Launch) -> float | None:
    """Return the logarithm of the median time of both arms, which run the same code; None without any burst."""
    bursts = [burst for each in launch.rounds for quad in each.quads for burst in (*quad.base, *quad.head)]
    return math.log(statistics.median(bursts)) if bursts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What comparing base with base found on a machine.

    Attributes:
        machine: fingerprint of the machine.
        priors: the spread seen, for each placement that was measured.
        cells: number of comparisons of base with base.
        false_alarms: how many of them were called regressed or improved.
        when: date and time in ISO 8601.
        processes: how much the logarithm of a case's time spreads between processes; None in calibrations of earlier
            versions.
    """

    machine: str
    priors: Mapping[Placement, Prior]
    cells: int
    false_alarms: int
    when: str
    processes: Spread | None = None

    @property
    def text(self) -> str:
        """What was found, as a sentence without its full stop."""
        spreads = (f"launches spread by {100 * prior.spread:.2f} % {name}" for name, prior in self.priors.items())
        times = f", times of processes by {100 * self.processes.deviation:.2f} %" if self.processes else ""
        return (
            f"{', '.join(spreads)}{times}; {counted(self.false_alarms, 'false alarm')} in {counted(self.cells, 'case')}"
        )

    @property
    def between(self) -> Between:
        """How much processes of the same code differ here, for what is not compared with a base."""
        if self.processes is None:
            return IN_GENERAL
        return replace(IN_GENERAL, process=self.processes, source=f"as calibrated on {self.when[:10]}")

    def applied(self, rule: Rule) -> Rule:
        """Return the rule with this machine's priors."""
        return replace(rule, priors={**rule.priors, **self.priors})

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as JSON-ready data."""
        priors = {placement: prior._asdict() for placement, prior in self.priors.items()}
        processes = self.processes._asdict() if self.processes else None
        return asdict(replace(self, priors={})) | {"priors": priors, "processes": processes}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Calibration:
        """Return the calibration from the data of `to_dict`."""
        priors = {placement: Prior(**prior) for placement, prior in data["priors"].items()}
        processes = Spread(**data["processes"]) if data.get("processes") else None
        return cls(**data | {"priors": priors, "processes": processes})


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
    return Calibration(
        machine=machine,
        priors=priors,
        cells=len(measured),
        false_alarms=sum(alarms),
        when=when,
        processes=estimate_processes(comparisons),
    )
