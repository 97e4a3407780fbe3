"""The conditions under which a case is measured on a machine.

A later session computes them again to decide which records are still valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.machine.machine import Machine
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
