"""How much a device keeps on disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_ngraph import store
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.projects import Projects
from pytest_ngraph.cluster.device.results import oldest_first
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.system.files import compiled_folder
from pytest_ngraph.worker.cache import Cache

EVERY_S = 600.0
"""Time between two looks at the sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """The most that a device keeps, in bytes.

    Attributes:
        results_bytes: journals of runs; the oldest go first, but none that a process writes to.
        projects_bytes: unpacked projects; the least recently used go first, but none that is in use.
        compiled_bytes: the user's cache of compiled artifacts, which local runs share.
    """

    results_bytes: int = 2**30
    projects_bytes: int = 4 * 2**30
    compiled_bytes: int = 10 * 2**30

    def enforce(self, folder: DeviceFolder, compiled: Path | None = None) -> list[str]:
        """Remove what is too much.

        Args:
            folder: the device's folder.
            compiled: the cache of compiled artifacts; default: the user's.

        Returns:
            What prevents that, in words. It is no reason to lose what was just measured.
        """
        bounds: tuple[Callable[[], None], ...] = (
            lambda: _bound_results(folder.store, self.results_bytes),
            lambda: Projects(folder.projects).bound(self.projects_bytes),
            lambda: Cache(compiled or compiled_folder(), self.compiled_bytes).bound(),
        )
        problems = []
        for bound in bounds:
            try:
                bound()
            except (OSError, NgraphError) as error:
                problems.append(f"cannot remove what exceeds the device's limits: {error}")
        return problems


class Enforcer:
    """Enforces quotas, but not more often than every `EVERY_S`: reading sizes takes time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at = float("-inf")

    def enforce(self, quotas: Quotas, folder: DeviceFolder) -> list[str]:
        """Enforce quotas, if it is time. Returns what prevents that."""
        if self._clock() - self._at < EVERY_S:
            return []
        self._at = self._clock()
        return quotas.enforce(folder)


def _bound_results(folder: Path, limit_bytes: int) -> None:
    found = oldest_first(folder)
    excess = sum(size for _, size in found) - limit_bytes
    for path, size in found:
        if excess <= 0:
            return
        if not store.is_live(folder, path.stem):
            excess -= size
            path.unlink(missing_ok=True)
