"""The types of metrics: values with intervals, of one case or of a wider scope, or absent with a reason."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pytest_ngraph.case import Case, Objective, Precision, Scalar, Shape, labelled, size_parts
from pytest_ngraph.metrics.between import IN_GENERAL, Between
from pytest_ngraph.stats import Estimate

FIELDS = tuple(each.name for each in dataclasses.fields(Case) if each.compare)
"""The fields of a case. A scope has them too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The scope of a metric that spans several cases: a case without the fields over which it extends (None).

    Attributes:
        against: the compiler and device that a comparison refers to, in words.
        over: the size of the user's own whose scaling the metric describes; empty for the others.
    """

    workload: str | None = None
    compiler: str
    batch_size: int | None = None
    depth: int | None = None
    width: int | None = None
    precision: Precision = "fp32"
    objective: Objective = "latency"
    sizes: tuple[tuple[str, int], ...] = ()
    model_args: tuple[tuple[str, Scalar], ...] = ()
    shapes: tuple[tuple[str, Shape], ...] = ()
    inputs: str = ""
    device: str = "cpu"
    against: str = ""
    over: str = ""

    @property
    def model_label(self) -> str:
        """The workload with its arguments, as in a case; empty when the scope spans workloads."""
        return labelled(self.workload or "", self.model_args, self.shapes, self.inputs)

    @property
    def id(self) -> str:
        """The scope's name, built like `Case.id`: `conv-openvino-b8-w64-xeon`, here over all depths."""
        sizes = size_parts(self.batch_size, self.depth, self.width, self.sizes)
        parts = [self.model_label, self.compiler, *sizes]
        if self.precision != "fp32":
            parts.append(self.precision)
        if self.objective != "latency":
            parts.append(self.objective)
        name = "-".join(part for part in (*parts, self.device) if part)
        name += f" over {self.over}" if self.over else ""
        return f"{name} against {self.against}" if self.against else name


@dataclass(frozen=True, slots=True)
class Metric:
    """One number.

    Attributes:
        name: a key of `DEFINITIONS`; a metric of your own has a dot in its name (`study.tcr_per_s`).
        scope: the case or the wider scope that it describes.
        estimate: the value with its interval.
        absent: why there is no estimate; empty when there is one.
        by_definition: true where no measurement could change this: identity's speedup is 1, its compile time is
            absent. Thresholds ignore such a metric.
        failed: how the model failed under the load that was to show this; empty if it did not. No limit holds then,
            whatever was measured before.
        steepness: by how many percent it changes where an iteration takes 1 % longer; only of metrics under load.
    """

    name: str
    scope: Case | Scope
    estimate: Estimate | None = None
    absent: str = ""
    by_definition: bool = False
    failed: str = ""
    steepness: float = 1.0

    @property
    def case(self) -> Case | None:
        """The case that this metric describes; None if it spans several."""
        return self.scope if isinstance(self.scope, Case) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inversion:
    """Two workloads whose order by throughput is reversed from one compiler and device to another (study, Figure 1).

    Attributes:
        winner: the faster case under the reference.
        loser: the slower case under the reference, at the same batch size.
        compiler: compiler under which the order is reversed.
        device: device on which the order is reversed.
        before: throughput of winner over loser under the reference (above 1). Its interval is what other processes
            would show.
        after: throughput of winner over loser with that compiler and device (below 1), with such an interval.
    """

    winner: Case
    loser: Case
    compiler: str
    device: str
    before: Estimate
    after: Estimate

    @property
    def of_winner(self) -> tuple[Case, Case]:
        """The winner's cases: under the reference, and where it loses."""
        return self.winner, self._there(self.winner)

    @property
    def of_loser(self) -> tuple[Case, Case]:
        """The loser's cases: under the reference, and where it wins."""
        return self.loser, self._there(self.loser)

    def _there(self, case: Case) -> Case:
        return dataclasses.replace(case, compiler=self.compiler, device=self.device)


@dataclass(frozen=True, slots=True)
class Metrics:
    """All metrics of a run. `metrics[case]["speedup"]` is one of a case; iterating gives all.

    Attributes:
        by_case: the metrics of single cases, in the order in which the cases were recorded.
        wider: the metrics that span several cases.
        inversions: the rank inversions found.
        between: how much processes of the same code differ, which the intervals of the metrics do not include.
        sessions: in which session each case was measured; what is not in it was measured in the same as all others.
    """

    by_case: Mapping[Case, Mapping[str, Metric]] = field(default_factory=dict)
    wider: tuple[Metric, ...] = ()
    inversions: tuple[Inversion, ...] = ()
    between: Between = IN_GENERAL
    sessions: Mapping[Case, str] = field(default_factory=dict)

    def __getitem__(self, case: Case) -> Mapping[str, Metric]:
        return self.by_case[case]

    def sessions_of(self, cases: Iterable[Case]) -> list[str]:
        """Return in which session each of these cases was measured."""
        return [self.sessions.get(case, "") for case in cases]

    def named(self, names: Container[str]) -> Iterator[Metric]:
        """Return the metrics of these names, of cases first."""
        for own in self.by_case.values():
            yield from (own[name] for name in own if name in names)
        yield from (metric for metric in self.wider if metric.name in names)

    def __iter__(self) -> Iterator[Metric]:
        for own in self.by_case.values():
            yield from own.values()
        yield from self.wider


def scope_of(case: Case, spanned: str) -> Scope:
    """Return the scope of a case's compiler over all values of one field."""
    fields = {name: getattr(case, name) for name in FIELDS}
    return Scope(**fields | {spanned: None})
