"""A cluster that is reached only when the first test asks for a device: tests that measure nothing do not need it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_ngraph.bench.site import Measurer, Site
from pytest_ngraph.bench.work_order import WorkOrder
from pytest_ngraph.errors import NgraphError, Unreachable
from pytest_ngraph.machine.host import Host


class OnDemandSite:
    """A site that connects when it is first needed.

    Args:
        address: the scheduler's.
        reach: connects and returns the cluster. If it fails, this and every later call raises `Unreachable`.
    """

    is_here = False

    def __init__(self, address: str, reach: Callable[[], Site]) -> None:
        self._address = address
        self._reach = reach
        self._site: Site | None = None
        self._problem: Unreachable | None = None

    def describe(self, devices: Sequence[str]) -> str:
        return self._site.describe(devices) if self._site else f"cluster {self._address}"

    def host(self, device: str) -> Host:
        return self._reached().host(device)

    def environment_of(self, device: str) -> dict[str, str] | None:
        return self._reached().environment_of(device)

    def check(self) -> None:
        self._reached().check()

    def open(self, work: WorkOrder) -> Measurer:
        return self._reached().open(work)

    def close(self) -> None:
        if self._site is not None:
            self._site.close()

    def _reached(self) -> Site:
        if self._problem is not None:
            raise self._problem
        if self._site is None:
            try:
                self._site = self._reach()
            except NgraphError as error:
                self._problem = Unreachable(str(error))
                raise self._problem from None
        return self._site
