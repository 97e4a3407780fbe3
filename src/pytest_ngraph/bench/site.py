"""Where a session measures: on this machine, or on the devices of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pytest_ngraph.bench.work_order import WorkOrder
    from pytest_ngraph.case import Case
    from pytest_ngraph.machine.host import Host
    from pytest_ngraph.record import Record


class Measurer(Protocol):
    """Turns groups of cases into records."""

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        """Measure the cases of one group: a record for each, as soon as it is complete. Records of other groups may
        come in between. Raises `DeviceAway`."""
        ...

    def close(self) -> None:
        """End every process, and stop what still measures."""
        ...


class Site(Protocol):
    """is_here: whether cases are measured on this machine, whatever their device is called."""

    is_here: bool

    def describe(self, devices: Sequence[str]) -> str:
        """What is measured on, in one line."""
        ...

    def host(self, device: str) -> Host:
        """The machine of a device. Raises `UsageError` where it is not there."""
        ...

    def environment_of(self, device: str) -> dict[str, str] | None:
        """Of the machine of a device; None where it is not there."""
        ...

    def check(self) -> None:
        """Raise `UsageError` for what would keep cases from being measured: better before the first than in it."""
        ...

    def open(self, work: WorkOrder) -> Measurer:
        """Make ready to measure."""
        ...

    def close(self) -> None:
        """Let go of what is held besides."""
        ...
