"""The conditions under which a case is measured on a machine.

A later session computes them again to decide which records are still valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.asked import Asked
from pytest_ngraph.case import Case
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.machine.host import THIS_MACHINE, Host
from pytest_ngraph.machine.machine import Machine
from pytest_ngraph.machine.standing import would_follow_from
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What settings and what target a case has on this machine.

    Attributes:
        common: the settings of the run, the same on every machine.
        profiles: the devices by name.
        threads: the most threads that a case computes with; None for as many as its device has.
    """

    common: Settings
    profiles: Mapping[str, Device]
    machine: Machine
    threads: int | None = None

    @property
    def settings(self) -> Settings:
        """The common settings, with a memory limit even if none is set."""
        return self.common.on_machine(self.machine.memory_bytes)

    def target(self, case: Case) -> Target:
        """Return what a case is compiled for."""
        return self.profiles[case.device].target(case, self.machine, self.threads)

    def would_follow_from(
        self, record: Record, asked: Asked, against: str = "", host: Host = THIS_MACHINE
    ) -> dict[str, Any]:
        """Return what an earlier record would follow from if its case were measured now.

        Args:
            asked: what has to be measured besides rounds. How long single calls take counts only where they are asked
                for, and only for a record that can have them.
            against: identity of the base; empty for none.
            host: the machine that would measure.
        """
        tails_s = self.settings.tails_s if record.case in asked.calls and record.has_single_calls else 0.0
        return would_follow_from(record, self.target(record.case), self.settings, against, host, tails_s)
