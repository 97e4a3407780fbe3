"""The place where a session measures: this machine, or the devices of a cluster."""

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
        """Measure the cases of one group and yield each record as soon as it is complete.

        Records of other groups may come in between.

        Raises:
            DeviceAway: the device of these cases is gone.
        """
        ...

    def close(self) -> None:
        """Stop what is still measuring, and end every process."""
        ...


class Site(Protocol):
    """A place that can measure.

    Attributes:
        is_here: whether cases are measured on this machine, whatever their device is called.
    """

    is_here: bool

    def describe(self, devices: Sequence[str]) -> str:
        """Return one line that describes what the devices are."""
        ...

    def host(self, device: str) -> Host:
        """Return the machine of a device. Raises `UsageError` if it is not there."""
        ...

    def environment_of(self, device: str) -> dict[str, str] | None:
        """Return the environment of a device's machine; None if it is not there."""
        ...

    def check(self) -> None:
        """Raise `UsageError` for anything that would keep cases from being measured, before the first one is."""
        ...

    def open(self, work: WorkOrder) -> Measurer:
        """Prepare to measure."""
        ...

    def close(self) -> None:
        """Release what the site itself holds."""
        ...
