"""What a device keeps on its disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.files import take


@dataclass(frozen=True, slots=True)
class DeviceFolder:
    """A device's own folder. store: results made here, kept until their client has them. projects: those unpacked.
    scratch: of the engine."""

    path: Path

    @property
    def store(self) -> Path:
        return self.path / "store"

    @property
    def projects(self) -> Path:
        return self.path / "projects"

    @property
    def scratch(self) -> Path:
        return self.path / "scratch"

    @contextmanager
    def occupied(self) -> Iterator[None]:
        """Make the folder, this user's alone, and hold it. Raises `UsageError` where another process does."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(f"cannot use {self.path}: {error.strerror}. Give another folder: --folder=DIR.") from None
        try:
            if not take(descriptor):
                raise UsageError(
                    f"a device runs in {self.path} already. Stop it (pytest-ngraph device stop), or give this one "
                    "another name."
                )
            yield
        finally:
            os.close(descriptor)


def default_folder(device: str) -> Path:
    """Where a device of this name lives unless told otherwise: the user's folder of state."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "pytest-ngraph" / f"device-{device}"
