"""The records of a session so far, and the metrics that follow from them."""

from __future__ import annotations

import dataclasses
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError

if TYPE_CHECKING:
    from pytest_ngraph.metrics import Metric, Metrics
    from pytest_ngraph.metrics.between import Between
    from pytest_ngraph.record import Record

ExtraMetrics = Callable[["Sequence[Record]"], "Iterable[Metric]"]
"""Computes the users' own metrics from some records."""


class Results:
    """Records by case, and the metrics computed from them.

    Attributes:
        records: records so far, by case.
        mistakes: errors of the users' own metrics, a line each.
    """

    def __init__(self, extra_metrics: ExtraMetrics, store: Path) -> None:
        """Start without records; `store` has earlier runs of the same code, if there are any."""
        self.records: dict[Case, Record] = {}
        self.mistakes: list[str] = []
        self._extra_metrics = extra_metrics
        self._store = store
        self._curves: dict[Case, dict[Case, Record]] = defaultdict(dict)

    def add(self, record: Record) -> None:
        """Add a record to the results."""
        self.records[record.case] = record
        self._curves[_curve(record.case)][record.case] = record

    def metrics(self) -> Metrics:
        """Return the metrics of all records, the users' own included."""
        from pytest_ngraph.metrics import compute

        records = list(self.records.values())
        try:
            return compute(records, extra=self._own(records), between=self._between)
        except UsageError as mistake:
            self.mistakes.append(str(mistake))
            return compute(records, between=self._between)

    @cached_property
    def _between(self) -> Between:
        """How much processes of the same code differ, as known when it is first asked for."""
        from pytest_ngraph.against.processes import known

        return known(self.records.values(), self._store)

    def metrics_around(self, case: Case, *, own: bool) -> Metrics:
        """Return the metrics of the records that a case's own metrics follow from.

        Args:
            own: whether to add the users' metrics, as far as they can be computed from the records so far.
        """
        from pytest_ngraph.metrics import compute

        curve = list(self._curves[_curve(case)].values())
        if own:
            with suppress(UsageError):  # a record may still be missing; the end reports real mistakes
                return compute(curve, extra=self._own(list(self.records.values())), between=self._between)
        return compute(curve, between=self._between)

    def _own(self, records: Sequence[Record]) -> list[Metric]:
        """Return the users' own metrics. Raises `UsageError` where their code fails, so that nothing else is lost."""
        try:
            return list(self._extra_metrics(records))
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            raise UsageError(
                f"metrics of your own cannot be computed, because the hook pytest_ngraph_metrics raises "
                f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"
            ) from error


def _curve(case: Case) -> Case:
    """Return a key that is equal for the cases that one case's own metrics follow from.

    They differ in compiler and batch size only.
    """
    return dataclasses.replace(case.group, batch_size=1)
