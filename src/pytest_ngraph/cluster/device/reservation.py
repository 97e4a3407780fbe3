"""A device that is reserved measures for one user alone, until a time that was agreed on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from distributed import Worker

from pytest_ngraph.cluster.resources import KEY
from pytest_ngraph.errors import StoreError
from pytest_ngraph.system.files import write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Who a device is reserved for.

    Attributes:
        by: the user, as `user@host`.
        until: when it ends, in seconds since 1970, by the device's clock.
    """

    by: str
    until: float


class Reservations:
    """The reservation of one device, in a file, so that it outlives a restart.

    Args:
        path: the file.
        wall: returns the time, in seconds since 1970.
    """

    def __init__(self, path: Path, wall: Callable[[], float] = time.time) -> None:
        self._path = path
        self._wall = wall

    def current(self) -> Reservation | None:
        """Return the reservation that holds now, if any. A file that cannot be read reserves nothing."""
        try:
            found = Reservation(**json.loads(self._path.read_text()))
            return found if found.until > self._wall() else None
        except (OSError, ValueError, TypeError):
            return None

    def reserve(self, by: str, seconds: float) -> Reservation | None:
        """Reserve the device from now on, or prolong or shorten one's own reservation.

        Returns:
            The reservation of another user, if it stands against that.

        Raises:
            StoreError: it cannot be written.
        """
        current = self.current()
        if current is not None and current.by != by:
            return current
        write_whole(self._path, json.dumps(asdict(Reservation(by=by, until=self._wall() + seconds))).encode())
        return None

    def release(self) -> None:
        """End the reservation, whoever made it. Raises `StoreError`."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot remove {self._path}: {error.strerror}.") from error

    def against(self, user: str) -> Reservation | None:
        """Return the reservation that keeps a user from measuring, if any."""
        current = self.current()
        return None if current is None or current.by == user else current


def reserve(by: str, seconds: float, dask_worker: Worker) -> dict[str, Any] | None:
    """Reserve a device. Called on its worker, through `Link.run`.

    Returns:
        The reservation of another user that stands against it, as data.
    """
    other = _of(dask_worker).reserve(by, seconds)
    return asdict(other) if other else None


def release(dask_worker: Worker) -> None:
    """End a device's reservation. Called on its worker, through `Link.run`."""
    _of(dask_worker).release()


def _of(worker: Worker) -> Reservations:
    device: Any = worker.plugins[KEY]
    return Reservations(device.folder.reservation)
