"""The local machine as the place where a session measures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ngraph.machine import machine
from pytest_ngraph.machine.host import THIS_MACHINE, Host

if TYPE_CHECKING:
    from pytest_ngraph.bench.bench import Bench
    from pytest_ngraph.bench.work_order import WorkOrder


class LocalSite:
    """Treats every device as this machine, used as the device's profile says.

    Workers run in the folder that the session started in, even if a test has changed the current folder since.
    """

    is_here = True

    def __init__(self) -> None:
        self._folder = Path.cwd()

    def describe(self, devices: Sequence[str]) -> str:
        return f"device {', '.join(devices)}: {machine.in_words()}"

    def host(self, device: str) -> Host:
        return THIS_MACHINE

    def environment_of(self, device: str) -> dict[str, str] | None:
        return THIS_MACHINE.environment

    def check(self) -> None:
        """Accept everything: nothing has to be sent anywhere."""

    def open(self, work: WorkOrder) -> Bench:
        from pytest_ngraph.bench.ahead import Ahead
        from pytest_ngraph.bench.bench import Bench
        from pytest_ngraph.bench.conditions import Conditions
        from pytest_ngraph.bench.processes.home import Home
        from pytest_ngraph.bench.progress import JournaledProgress

        terms = Conditions(
            common=work.settings, profiles=work.profiles, machine=THIS_MACHINE.machine, threads=work.threads
        )
        return Bench(
            terms.settings,
            terms.target,
            work.progress if terms.settings.smoke else JournaledProgress(work.progress, work.enter),
            work.base,
            Home(folder=self._folder),
            work.asked,
            work.knowledge,
            Ahead(groups=work.groups, lanes=work.lanes, is_over=work.is_over, note=work.note) if work.lanes else None,
        )

    def close(self) -> None:
        """Do nothing: nothing is held."""
