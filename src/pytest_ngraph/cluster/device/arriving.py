"""An archive that arrives at a device in parts, each of which is written to disk at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from pytest_ngraph.cluster.project import LIMIT_BYTES
from pytest_ngraph.errors import NgraphError


class Arriving:
    """Holds the archive that arrives, one at a time.

    Args:
        path: the file that holds its parts so far.
        limit_bytes: the most that an archive may have.
    """

    def __init__(self, path: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self._path = path
        self._limit_bytes = limit_bytes
        self._next = ("", "", 0)
        self._lock = threading.Lock()

    def add(self, number: int, content: bytes, client: str = "", digest: str = "") -> bool:
        """Add a part. The first one, number 0, removes whatever arrived before.

        Args:
            number: the part's.
            content: its bytes.
            client: who sends it.
            digest: the archive's.

        Returns:
            Whether it was added. One that does not follow on the last part is not: another client has sent its own
            archive in between, or the device was started again.

        Raises:
            NgraphError: the parts together are more than an archive may have, or cannot be written. None of them is
                left.
        """
        with self._lock:
            if number and self._next != (client, digest, number):
                return False
            self._next = (client, digest, number + 1)
            try:
                if number == 0:
                    self._path.unlink(missing_ok=True)
                with open(self._path, "ab", opener=partial(os.open, mode=0o600)) as file:
                    file.write(content)
                    size = file.tell()
            except OSError as error:
                self._drop()
                raise NgraphError(f"the project cannot be stored on this device: {error}.") from None
            if size > self._limit_bytes:
                self._drop()
                raise NgraphError(f"the archive of the project has more than {self._limit_bytes / 2**20:.0f} MiB.")
            return True

    def forget(self, client: str) -> None:
        """Remove what has arrived of a client's archive."""
        with self._lock:
            if self._next[0] == client:
                self._drop()

    @contextmanager
    def whole(self) -> Iterator[Path]:
        """Yield the file of the archive, all parts of which have arrived, and remove it in the end."""
        try:
            yield self._path
        finally:
            with self._lock:
                self._drop()

    def _drop(self) -> None:
        """Remove what has arrived. The lock is held."""
        self._next = ("", "", 0)
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
