"""The metrics of cases as mappings. Each is made when it is read: a run of 10,000 cases has a million of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from pytest_ngraph.case import Case
from pytest_ngraph.metrics.column import Column
from pytest_ngraph.metrics.metric import Metric


class ByCase(Mapping[Case, Mapping[str, Metric]]):
    """The metrics of some cases, by case and name.

    Args:
        cases: the cases, in the order of the rows.
        columns: their metrics by name, with a row for each case.
        extra: further metrics of these cases: the users' own.
    """

    def __init__(self, cases: Sequence[Case], columns: Mapping[str, Column], extra: Iterable[Metric] = ()) -> None:
        self._rows = {case: row for row, case in enumerate(cases)}
        self._columns = columns
        self._extra: dict[Case | None, dict[str, Metric]] = {}
        for metric in extra:
            self._extra.setdefault(metric.case, {})[metric.name] = metric

    def __getitem__(self, case: Case) -> Mapping[str, Metric]:
        return _OfCase(case, self._rows[case], self._columns, self._extra.get(case, {}))

    def __contains__(self, case: object) -> bool:
        return case in self._rows

    def __iter__(self) -> Iterator[Case]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class _OfCase(Mapping[str, Metric]):
    def __init__(self, case: Case, row: int, columns: Mapping[str, Column], extra: Mapping[str, Metric]) -> None:
        self._case, self._row = case, row
        self._columns, self._extra = columns, extra

    def __getitem__(self, name: str) -> Metric:
        column = self._columns.get(name)
        return self._extra[name] if column is None else column.metric(name, self._row, self._case)

    def __contains__(self, name: object) -> bool:
        return name in self._columns or name in self._extra

    def __iter__(self) -> Iterator[str]:
        return chain(self._columns, self._extra)

    def __len__(self) -> int:
        return len(self._columns) + len(self._extra)
