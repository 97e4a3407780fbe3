"""On what terms a case is measured on a machine. A later session asks for them again, to know which records stand."""

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
    """common: the settings of the run, on whichever machine. profiles: the devices by name. threads: the most that a
    case computes with; None for all of its device's."""

    common: Settings
    profiles: Mapping[str, Device]
    machine: Machine
    threads: int | None = None

    @property
    def settings(self) -> Settings:
        """With a limit of memory also where none is set."""
        return self.common.on_machine(self.machine.memory_bytes)

    def target(self, case: Case) -> Target:
        """What a case is compiled for."""
        return self.profiles[case.device].target(case, self.machine, self.threads)
