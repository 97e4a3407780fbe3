"""What a session gives to the place where it measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.case import Case
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.record import Phase
from pytest_ngraph.settings import Settings

if TYPE_CHECKING:
    from pytest_ngraph.bench.base import Base
    from pytest_ngraph.gate import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOrder:
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
