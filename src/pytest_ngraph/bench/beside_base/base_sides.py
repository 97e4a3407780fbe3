"""The base's side of each case of a group: what the base has for it, and whether the two differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.bench.beside_base.base import Base
from pytest_ngraph.bench.beside_base.base_builds import BaseBuilds, Unbuilt
from pytest_ngraph.bench.beside_base.differing import compared
from pytest_ngraph.bench.processes.workers import BASE_EXPORTER, EXPORTER
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseSide:
    """The base's side of one comparison.

    Attributes:
        case: the base's case.
        artifact: what its compiler starts from.
        instead_of: as in `Base`.
    """

    case: Case
    artifact: Artifact
    instead_of: tuple[Path, Path] | None = None


class BaseSides:
    """Finds the base's side of each case of a group.

    Args:
        builds: builds what it starts from; closed with this.
    """

    def __init__(self, base: Base, builds: BaseBuilds) -> None:
        self._base = base
        self._builds = builds

    def build_ahead(self, case: Case) -> None:
        """Begin to build what the base's case starts from, while something else is built."""
        base_case = self._base.case_of(case)
        if base_case is not None:
            self._builds.begin(base_case.group, case)

    def close(self) -> None:
        """End what is still being built."""
        self._builds.close()

    def beside_nothing(self, case: Case, reason: str, prepare: Callable[[BaseSide], Record]) -> Comparison:
        """Return the comparison of a case whose workload cannot be built here: it is lost if the base runs.

        Args:
            reason: why it cannot be built.
            prepare: prepares the base by itself, and returns what came of it.
        """
        comparison, base_side = self.of(case, None)
        if base_side is None:
            return comparison
        record = prepare(base_side)
        if record.failure is not None:
            problem = f"the base does not run: {record.failure.message}"
            return dataclasses.replace(comparison, problem=problem, broken=record.failure.kind)
        if record.outcome == "skipped":
            problem = f"the base does not run: {record.skip_reason}"
            return dataclasses.replace(comparison, problem=problem, base_skipped=record.skip_reason)
        return dataclasses.replace(comparison, lost=reason)

    def of(self, case: Case, artifact: Artifact | None) -> tuple[Comparison, BaseSide | None]:
        """Return the comparison, still without launches, and the base's side to measure.

        That is None if there is nothing to measure; the comparison then says why.

        Args:
            artifact: what the case's own compiler starts from; None if it cannot be built.
        """
        comparison = Comparison(against=self._base.name, placement=self._base.placement)
        base_case = self._base.case_of(case)
        if base_case is None:
            return dataclasses.replace(comparison, new=True), None
        if base_case != case:
            comparison = dataclasses.replace(comparison, base=base_case.id)
        built = self._builds.artifact(base_case.group, case)
        if isinstance(built, Unbuilt):
            return built.noted_in(comparison), None
        base = self._builds.side(base_case, built, BASE_EXPORTER, case)
        if self._base.on_built is not None:
            self._base.on_built(case, base.moved(*self._base.instead_of) if self._base.instead_of else base)
        head = self._builds.side(case, artifact, EXPORTER, case) if artifact else None
        if head:
            instead_of, measures_equals = self._base.instead_of, self._base.measures_equals
            comparison = compared(comparison, head, base, instead_of=instead_of, measures_equals=measures_equals)
        if comparison.same:
            return comparison, None
        return comparison, BaseSide(case=base_case, artifact=built, instead_of=self._base.instead_of)
