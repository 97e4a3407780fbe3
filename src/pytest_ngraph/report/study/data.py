"""The study as data: everything that was recorded and what follows from it, as frames for tables and figures.

Of equal cases, the one begun last counts; `Study.records` has the others as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from pytest_ngraph.costs import COSTS
from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.metrics.between import IN_GENERAL, Between
from pytest_ngraph.metrics.compute import columns_of
from pytest_ngraph.metrics.history import learned
from pytest_ngraph.report.study import columns, frames
from pytest_ngraph.report.study.recorded import Recorded
from pytest_ngraph.report.study.sides import Sides

if TYPE_CHECKING:
    from pytest_ngraph.metrics import Metric
    from pytest_ngraph.store import Run


@dataclass(frozen=True, kw_only=True, eq=False)
class Study:
    """The frames, with the columns of `study.columns`.

    Attributes:
        records: one row per record, with raw samples.
        profiles: where the time of cases goes, by their id. Only of those whose time was profiled.
        unprofiled: why that is not known of cases that were to be profiled, by their id.
        between: how much processes of the same code differ; decisions take it into account.
        before: the cases of the earlier runs that this study is compared with; no rows without such runs.
        sides: two runs or devices that are compared; None without them.
    """

    cases: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.CASES))
    metrics: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.METRICS))
    inversions: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.INVERSIONS))
    machines: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.MACHINES))
    records: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.RECORDS))
    before: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.CASES))
    loads: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.LOADS))
    profiles: Mapping[str, KeptProfile] = field(default_factory=dict)
    unprofiled: Mapping[str, str] = field(default_factory=dict)
    between: Between = IN_GENERAL
    sides: Sides | None = None

    @classmethod
    def of(
        cls,
        runs: Iterable[Run],
        before: Iterable[Run] = (),
        own: Iterable[Metric] = (),
        between: Callable[[Collection[str]], Between] = lambda machines: IN_GENERAL,
        sides: Sides | None = None,
    ) -> Study:
        """Return the study of these runs, from any number of stores and devices.

        Runs from a generator are read one at a time, so that the records of only one are in memory.

        Args:
            before: earlier runs to compare with.
            own: the user's own metrics.
            between: returns how much processes of the same code differ on machines with these fingerprints, as known
                before these runs are looked at.
            sides: two runs or devices to compare.
        """
        recorded, earlier = Recorded.of(runs), Recorded.of(before)
        newest = recorded.newest()
        machines = recorded.machines.filter(pl.col("key") == "fingerprint")["value"].unique().to_list()
        known = learned(recorded.times, between(machines))
        cases = recorded.frame[newest].select(list(columns.CASES))
        ids = cases["case"].to_list()
        kept = {case: recorded.profiles.get(int(row), {}) for case, row in zip(ids, newest, strict=True)}
        computed = columns_of(recorded.cells.take(newest), known)
        has_costs = bool(computed.cells.costs)
        by_name = {name: column for name, column in computed.by_name.items() if has_costs or name not in COSTS}
        metrics = [*frames.case_metrics(by_name, cases), frames.metrics([*computed.wider, *own])]
        return cls(
            cases=cases,
            metrics=pl.concat(metrics),
            inversions=frames.inversions(computed.inversions),
            machines=recorded.machines,
            records=recorded.frame,
            loads=frames.loads(computed.cells),
            profiles={case: KeptProfile.from_dict(data) for case, data in kept.items() if "kernels" in data},
            unprofiled={case: data["problem"] for case, data in kept.items() if "problem" in data},
            before=earlier.frame[earlier.newest()].select(list(columns.CASES)),
            between=known,
            sides=sides,
        )

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before comparing, a sentence each."""
        several = (
            self._fingerprints.group_by("device", maintain_order=True)
            .agg(pl.col("value").n_unique())
            .filter(pl.col("value") > 1)
        )
        return [
            f"device {device} stands for {count} different machines; of equal cases only the newest count. "
            "Give each machine a device name of its own (ini key ngraph_devices)."
            for device, count in several.rows()
        ]

    @property
    def _fingerprints(self) -> pl.DataFrame:
        """Those of the machines, without those of earlier versions for a machine that also has a newer one."""
        found = self.machines.filter(pl.col("key") == "fingerprint")
        earlier = self.machines.filter(pl.col("key") == "earlier fingerprint")
        replaced = earlier.join(found, on=["device", "run", "value"], how="anti")
        return found.join(replaced, on=["device", "value"], how="anti", maintain_order="left")

    @property
    def measured(self) -> pl.DataFrame:
        """The cases that have a measurement."""
        return self.cases.filter(pl.col("outcome") == "measured")
