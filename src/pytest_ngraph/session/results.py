"""What a session has measured by now, and the metrics that follow from it."""

from __future__ import annotations

import dataclasses
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError

if TYPE_CHECKING:
    from pytest_ngraph.metrics import Metric, Metrics
    from pytest_ngraph.record import Record

ExtraMetrics = Callable[["Sequence[Record]"], "Iterable[Metric]"]
"""Gives the users' own metrics for some records."""


class Results:
    """records: by case. mistakes: in the users' own metrics of all records."""

    def __init__(self, extra_metrics: ExtraMetrics) -> None:
        self.records: dict[Case, Record] = {}
        self.mistakes: list[str] = []
        self._extra_metrics = extra_metrics
        self._curves: dict[Case, dict[Case, Record]] = defaultdict(dict)

    def enter(self, record: Record) -> None:
        """Let a record take part."""
        self.records[record.case] = record
        self._curves[_curve(record.case)][record.case] = record

    def metrics(self) -> Metrics:
        """Those of all records, the users' own included."""
        from pytest_ngraph.metrics import compute

        records = list(self.records.values())
        try:
            return compute(records, extra=self._own(records))
        except UsageError as mistake:
            self.mistakes.append(str(mistake))
            return compute(records)

    def metrics_around(self, case: Case, *, own: bool) -> Metrics:
        """Those of the records from which a case's own metrics follow. own: the users' too, as far as they can be told
        from the records by now."""
        from pytest_ngraph.metrics import compute

        curve = list(self._curves[_curve(case)].values())
        if own:
            with suppress(UsageError):  # for want of a record that is still to come, or for good: the end tells
                return compute(curve, extra=self._own(list(self.records.values())))
        return compute(curve)

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
