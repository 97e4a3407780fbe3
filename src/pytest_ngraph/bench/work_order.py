"""What a session passes to the place where it measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ngraph.bench.asked import NOTHING, Asked
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.rounds.goal import NOTHING_KNOWN, Knowledge
from pytest_ngraph.case import Case
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.record import Phase
from pytest_ngraph.settings import Settings

if TYPE_CHECKING:
    from pytest_ngraph.bench.beside_base.base import Base
    from pytest_ngraph.gate import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOrder:
    """What a session has to measure, and whom to notify.

    Attributes:
        settings: the settings of the run.
        profiles: the devices by name.
        groups: all cases that tests will ask for and that need measuring, in that order.
        progress: is notified as cases are measured.
        run_id: returns the id of the run that records go to.
        enter: writes down that a case enters a phase. Raises `StoreError`.
        describe_device: writes down what a device is. Raises `StoreError`.
        threads: the most threads that a case computes with; None for as many as its device has.
        base: what the cases are compared with.
        rule: how a comparison is decided; None without a base.
        asked: cases of which more than rounds is measured.
        knowledge: what the goal of the settings decides by. Devices of a cluster decide by what holds in
            general, and by how many cases each group has.
        retries: how often devices measure a case again whose process died while it ran.
        retry_failed: whether devices measure again what failed there in a way that may have been chance.
        measured_again: notes that a device had a record of a case, and why it does not stand any more.
        note: shows a sentence at the end of the run.
        lanes: how many processes compile the groups ahead, before the first is measured; 0 to compile each by itself.
        is_over: whether the time of the session is over.
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
    asked: Asked = NOTHING
    knowledge: Knowledge = NOTHING_KNOWN
    retries: int = 1
    retry_failed: bool = False
    measured_again: Callable[[Case, str], None] = lambda case, reason: None
    note: Callable[[str], None] = lambda text: None
    lanes: int = 0
    is_over: Callable[[], bool] = lambda: False
