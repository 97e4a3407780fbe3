"""Where a session measures: on this machine, or on the devices of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.case import Case
from pytest_ngraph.devices import Device
from pytest_ngraph.host import Host
from pytest_ngraph.record import Phase, Record
from pytest_ngraph.settings import Settings

if TYPE_CHECKING:
    from pytest_ngraph.bench.base import Base
    from pytest_ngraph.gate import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a session has to measure, and whom to tell of it.

    profiles: the devices by name. threads: the most that a case computes with; None for all of its device's.
    groups: all cases that tests will ask for and that need measuring, in their order. base: what they are compared
    with. rule: by which that is decided; None without a base. run_id: gives the id of the run that records go to.
    enter: notes that a case enters a phase. describe_device: notes what a device is. Both raise `StoreError`.
    """

    settings: Settings
    profiles: Mapping[str, Device]
    groups: Sequence[Sequence[Case]]
    progress: Progress
    run_id: Callable[[], str]
    enter: Callable[[Case, Phase], None]
    describe_device: Callable[[str, dict[str, str]], None]
    threads: int | None = None
    base: Base | None = None
    rule: Rule | None = None


class Measures(Protocol):
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

    def open(self, work: Work) -> Measures:
        """Make ready to measure."""
        ...

    def close(self) -> None:
        """Let go of what is held besides."""
        ...
