"""The cases that the tests of a session will ask for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from pytest_ngraph.case import Case


class Plan:
    """The cases by group: those that differ only in their compiler are measured together."""

    def __init__(self) -> None:
        self._groups: dict[Case, dict[Case, str]] = defaultdict(dict)

    def __contains__(self, case: Case) -> bool:
        return case in self._groups.get(case.group, ())

    def __iter__(self) -> Iterator[Case]:
        """Iterate group by group."""
        return (case for group in self._groups.values() for case in group)

    def add(self, case: Case, nodeid: str) -> None:
        """Plan the case, for this test."""
        self._groups[case.group].setdefault(case, nodeid)

    def nodeid(self, case: Case) -> str:
        """Return the first test that will ask for the case."""
        return self._groups[case.group][case]

    def beside(self, case: Case) -> list[Case]:
        """Return the case's group, itself included."""
        return list(self._groups[case.group])

    @property
    def groups(self) -> list[list[Case]]:
        return [list(group) for group in self._groups.values()]

    @property
    def ids(self) -> list[str]:
        return [case.id for case in self]
