"""An archive that arrives at a device in parts, each of which is written to disk at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
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

    def add(self, number: int, content: bytes) -> None:
        """Add a part. The first one, number 0, removes whatever arrived before.

        Raises:
            NgraphError: the parts together are more than an archive may have, or cannot be written.
        """
        try:
            if number == 0:
                self._path.unlink(missing_ok=True)
            with open(self._path, "ab", opener=partial(os.open, mode=0o600)) as file:
                file.write(content)
                size = file.tell()
        except OSError as error:
            raise NgraphError(f"the project cannot be stored on this device: {error}.") from None
        if size > self._limit_bytes:
            self._path.unlink()
            raise NgraphError(f"the archive of the project has more than {self._limit_bytes / 2**20:.0f} MiB.")

    @contextmanager
    def whole(self) -> Iterator[Path]:
        """Yield the file of the archive, all parts of which have arrived, and remove it in the end."""
        try:
            yield self._path
        finally:
            self._path.unlink(missing_ok=True)
