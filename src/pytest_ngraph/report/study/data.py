"""The study as data: everything that was recorded and what follows from it, as frames for tables and figures.

Of equal cases, the one begun last counts, unless a gate left it out as unchanged; `Study.records` has all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pytest_ngraph.costs import COSTS
from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.metrics.between import IN_GENERAL, Between
from pytest_ngraph.metrics.compute import columns_of
from pytest_ngraph.metrics.learned import learned
from pytest_ngraph.report.study import columns, frames
from pytest_ngraph.report.study.recorded import Recorded
from pytest_ngraph.report.study.rounds import Rounds
from pytest_ngraph.report.study.sides import Sides
from pytest_ngraph.system.garbage import give_back_memory
from pytest_ngraph.wording import counted

if TYPE_CHECKING:
    from pytest_ngraph.metrics import Metric
    from pytest_ngraph.metrics.column import Column
    from pytest_ngraph.metrics.sampled import Rows
    from pytest_ngraph.store import Outline, Run


@dataclass(frozen=True, kw_only=True, eq=False)
class Study:
    """The frames, with the columns of `study.columns`.

    Attributes:
        records: one row per record.
        rounds: the raw rounds of each of `records`.
        deviations: standard deviation of the rounds of each of `cases`, as throughput; null with fewer than two.
        by_case: the metrics of cases by name, with a row for each of `cases`.
        wider: the metrics that span several cases, and the user's own, with the columns of `columns.METRICS`.
        profiles: where the time of cases goes, by their id. Only of those whose time was profiled.
        unprofiled: why that is not known of cases that were to be profiled, by their id.
        unmeasured: number of cases without a record, of runs that did not come to their end.
        between: how much processes of the same code differ; decisions take it into account.
        before: the cases of the earlier runs that this study is compared with; no rows without such runs.
        sides: two runs or devices that are compared; None without them.
    """

    cases: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.CASES))
    by_case: Mapping[str, Column] = field(default_factory=dict)
    wider: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.METRICS))
    inversions: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.INVERSIONS))
    machines: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.MACHINES))
    records: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.RECORDS))
    rounds: Rounds = field(default_factory=lambda: Rounds.joined([]))
    deviations: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.Float64))
    before: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.CASES))
    loads: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=columns.LOADS))
    profiles: Mapping[str, KeptProfile] = field(default_factory=dict)
    unprofiled: Mapping[str, str] = field(default_factory=dict)
    unmeasured: int = 0
    between: Between = IN_GENERAL
    sides: Sides | None = None

    @classmethod
    def of(
        cls,
        runs: Iterable[Run | Outline],
        before: Iterable[Run | Outline] = (),
        own: Iterable[Metric] = (),
        between: Callable[[Collection[str]], Between] = lambda machines: IN_GENERAL,
        sides: Sides | None = None,
    ) -> Study:
        """Return the study of these runs, from any number of stores and devices.

        Runs may come from a generator. Of outlines, only some records at a time are in memory.

        Args:
            before: earlier runs to compare with.
            own: the user's own metrics.
            between: returns how much processes of the same code differ on machines with these fingerprints, as known
                before these runs are looked at.
            sides: two runs or devices to compare.
        """
        recorded, earlier = Recorded.of(runs), Recorded.of(before)
        give_back_memory()
        newest = recorded.newest()
        machines = recorded.machines.filter(pl.col("key") == "fingerprint")["value"].unique().to_list()
        known = learned(recorded.times, between(machines))
        are_all = len(newest) == recorded.frame.height and bool((np.diff(newest) > 0).all())
        cases = recorded.frame.select(list(columns.CASES))
        cases = cases if are_all else cases[newest]
        places = np.flatnonzero(np.isin(newest, list(recorded.profiles))).tolist()
        kept = {cases["case"][place]: recorded.profiles[int(newest[place])] for place in places}
        computed = columns_of(recorded.cells.take(newest), known)
        has_costs = bool(computed.cells.costs)
        give_back_memory()
        return cls(
            cases=cases,
            by_case={name: each for name, each in computed.by_name.items() if has_costs or name not in COSTS},
            wider=pl.concat([frames.wider(computed, cases), frames.metrics([*own])]),
            inversions=frames.inversions(computed.inversions),
            machines=recorded.machines,
            records=recorded.frame,
            rounds=recorded.rounds,
            deviations=recorded.deviations if are_all else recorded.deviations[newest],
            loads=frames.loads(computed.cells),
            profiles={case: KeptProfile.from_dict(data) for case, data in kept.items() if "kernels" in data},
            unprofiled={case: data["problem"] for case, data in kept.items() if "problem" in data},
            unmeasured=recorded.unmeasured,
            before=earlier.frame.select(list(columns.CASES))[earlier.newest()],
            between=known,
            sides=sides,
        )

    def metric(self, *names: str) -> pl.DataFrame:
        """Return these metrics, with the columns of `columns.METRICS`: all at once may take gigabytes."""
        of_cases = [frames.case_metric(name, each, self.cases) for name, each in self.by_case.items() if name in names]
        return pl.concat([*of_cases, self.wider.filter(pl.col("metric").is_in(names))])

    def rows_with(self, name: str) -> Rows:
        """Return the rows of `cases` that have a value of a metric."""
        column = self.by_case.get(name)
        return np.empty(0, dtype=np.intp) if column is None else np.flatnonzero(~np.isnan(column.estimates.values))

    def known(self, *names: str) -> pl.DataFrame:
        """Return these metrics where they have a value."""
        of_cases = [
            frames.case_metric(name, each, self.cases, self.rows_with(name))
            for name, each in self.by_case.items()
            if name in names
        ]
        wider = self.wider.filter(pl.col("metric").is_in(names), pl.col("value").is_not_null())
        return pl.concat([*of_cases, wider])

    def values(self, name: str, *of_case: str) -> pl.DataFrame:
        """Return the value of a metric of cases where it has one, as `value`, behind these columns of `cases`."""
        rows = self.rows_with(name)
        values = self.by_case[name].estimates.values[rows] if len(rows) else np.empty(0)
        return self.cases.select(of_case)[rows].with_columns(value=pl.Series(values, dtype=pl.Float64))

    @property
    def metrics(self) -> pl.DataFrame:
        """Every metric, with the columns of `columns.METRICS`."""
        every = (frames.case_metric(name, each, self.cases) for name, each in self.by_case.items())
        return pl.concat([*every, self.wider])

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before comparing, a sentence each."""
        several = (
            self._fingerprints.group_by("device", maintain_order=True)
            .agg(pl.col("value").n_unique())
            .filter(pl.col("value") > 1)
        )
        return [*self._cut_short] + [
            f"device {device} stands for {count} different machines; of equal cases only the newest count. "
            "Give each machine a device name of its own (ini key ngraph_devices)."
            for device, count in several.rows()
        ]

    @property
    def _cut_short(self) -> Iterator[str]:
        if self.unmeasured:
            more = f"{counted(self.unmeasured, 'case')} more {'was' if self.unmeasured == 1 else 'were'} to be measured"
            yield f"{more}: a run did not come to its end. pytest --ngraph-resume continues it."

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
