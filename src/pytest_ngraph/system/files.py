"""Files that are there whole or not at all, for this user only."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pytest_ngraph.errors import StoreError


def write_whole(path: Path, text: bytes) -> None:
    """Write a file, or replace one. Raises `StoreError` when it cannot be written."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=path.parent) as scratch:
            staged = Path(scratch, path.name)
            staged.touch(mode=0o600)
            with staged.open("wb") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            staged.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}.") from error
