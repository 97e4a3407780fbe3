"""What a session has measured by now, and the metrics that follow from it."""

from __future__ import annotations

import dataclasses
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.record import Record

if TYPE_CHECKING:
    from pytest_ngraph.metrics import Metric, Metrics

ExtraMetrics = Callable[[Sequence[Record]], "Iterable[Metric]"]
"""Gives the users' own metrics for some records."""


class Measured:
    """records: by case. mistakes: in the users' own metrics, each once."""

    def __init__(self, extra_metrics: ExtraMetrics) -> None:
        self.records: dict[Case, Record] = {}
        self.mistakes: dict[str, None] = {}
        self._extra_metrics = extra_metrics
        self._curves: dict[Case, dict[Case, Record]] = defaultdict(dict)

    def enter(self, record: Record) -> None:
        """Let a record take part."""
        self.records[record.case] = record
        self._curves[_curve(record.case)][record.case] = record

    def metrics(self) -> Metrics:
        """Those of all records, the users' own included."""
        return self._compute(list(self.records.values()))

    def metrics_around(self, case: Case) -> Metrics:
        """Those of the records from which a case's own metrics follow."""
        return self._compute(list(self._curves[_curve(case)].values()))

    def _compute(self, records: Sequence[Record]) -> Metrics:
        from pytest_ngraph.metrics import compute

        try:
            return compute(records, extra=self._own(records))
        except UsageError as mistake:  # the run's end tells of it
            self.mistakes[str(mistake)] = None
            return compute(records)

    def _own(self, records: Sequence[Record]) -> list[Metric]:
        """The users' own metrics. Raises `UsageError` where their code fails: it takes nothing else with it."""
        try:
            return list(self._extra_metrics(records))
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            raise UsageError(
                f"metrics of your own cannot be computed: {type(error).__name__}: {error} "
                f"({Path(place.filename).name}, line {place.lineno})"
            ) from error


def _curve(case: Case) -> Case:
    """Equal for the cases from which one case's own metrics follow: they differ in compiler and batch size only."""
    return dataclasses.replace(case.group, batch_size=1)
