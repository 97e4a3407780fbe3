"""Costs: what a process needs that only serves a model, as raw figures of its launches. `metrics` makes medians of
them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ngraph.stats import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingLaunch:
    """One fresh process that serves a model. Memory is None where the kernel does not report it.

    Attributes:
        cold_start_s: seconds from exec to the first answer, without reading the sample inputs.
        serving_import_s: seconds to import `serve`, and with it the runtime.
        serving_load_s: seconds of `load()`.
        serving_first_call_s: seconds of the first `answer()`.
        serving_memory_bytes: resident, after it has answered until that was steady.
        serving_private_bytes: the part of it that no other process shares.
        serving_peak_bytes: the resident peak up to then.
    """

    cold_start_s: float
    serving_import_s: float
    serving_load_s: float
    serving_first_call_s: float
    serving_memory_bytes: int | None = None
    serving_private_bytes: int | None = None
    serving_peak_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What serving a case costs.

    Attributes:
        launches: fresh processes, in the order in which they ran.
        artifact_bytes: size of the files that `load()` reads; None where nothing could be deployed.
        install_bytes: size of what `requirements.txt` installs; None where that is not known.
        problem: why there are no launches; empty where there are some.
    """

    launches: tuple[ServingLaunch, ...] = ()
    artifact_bytes: int | None = None
    install_bytes: int | None = None
    problem: str = ""

    def values(self, metric: str) -> list[float]:
        """Return what is known of a metric of `COSTS`: a value for each launch, or the one size; else nothing."""
        found = [getattr(self, metric)] if metric in SIZES else [getattr(launch, metric) for launch in self.launches]
        return [] if None in found else found

    def estimate(self, metric: str) -> Estimate | None:
        """Return a metric of `COSTS`: the median of the launches with its 95 % interval, or the size; None if unknown.

        The interval lies between order statistics, and is infinite with fewer than six launches.
        """
        import numpy as np

        from pytest_ngraph.stats import Estimate, median_interval

        found = self.values(metric)
        if not found:
            return None
        return Estimate.exactly(found[0]) if metric in SIZES else median_interval(np.array(found, dtype=np.float64))

    def why_absent(self, metric: str) -> str:
        """Return why a metric of `COSTS` is not known."""
        if metric == "install_bytes" and self.artifact_bytes is not None:
            return "an installed package does not list its files"
        return self.problem or "the kernel does not report it"

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Costs:
        """Return the costs whose fields these are, launches as dicts."""
        return cls(**data | {"launches": tuple(ServingLaunch(**launch) for launch in data["launches"])})

    def to_dict(self) -> dict[str, Any]:
        """Return the costs as JSON-ready data."""
        return asdict(self)


SIZES = ("artifact_bytes", "install_bytes")
"""Costs that do not differ from launch to launch."""
COSTS = (*(field.name for field in fields(ServingLaunch)), *SIZES)
"""The names of all costs, as metrics."""
NOT_ASKED_FOR = "the costs to serve were not measured; --ngraph-serving asks for them"
