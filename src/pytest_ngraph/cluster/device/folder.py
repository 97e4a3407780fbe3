"""The folder in which a device keeps its files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.files import state_folder, take
from pytest_ngraph.wording import listed

OWN = (".", "store", "projects", "arriving", "audit.jsonl", "reservation.json", "scratch")
"""How the names begin of what a device has in its folder."""


@dataclass(frozen=True, slots=True)
class DeviceFolder:
    """A device's own folder.

    Attributes:
        store: results measured here, kept so that none is measured twice.
        projects: unpacked projects.
        arriving: the archive that arrives.
        audit: who ran which project, when.
        reservation: who the device is reserved for.
        scratch: the engine's temporary files.
    """

    path: Path

    @property
    def store(self) -> Path:
        return self.path / "store"

    @property
    def projects(self) -> Path:
        return self.path / "projects"

    @property
    def arriving(self) -> Path:
        return self.path / "arriving"

    @property
    def audit(self) -> Path:
        return self.path / "audit.jsonl"

    @property
    def reservation(self) -> Path:
        return self.path / "reservation.json"

    @property
    def scratch(self) -> Path:
        return self.path / "scratch"

    @contextmanager
    def occupied(self) -> Iterator[None]:
        """Make the folder, readable by this user only, and lock it.

        Raises:
            UsageError: it cannot be used, has other files than a device's, or another process holds it.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            others = sorted(path.name for path in self.path.iterdir() if not path.name.startswith(OWN))
        except OSError as error:
            raise UsageError(f"cannot use {self.path}: {error.strerror}. Give another folder: --folder=DIR.") from None
        try:
            if others:  # a device removes what clients have sent, and what is too much
                raise UsageError(
                    f"cannot use {self.path}: it is not a device's folder ({listed(others, 3)}). Give a new or an "
                    "empty one: --folder=DIR."
                )
            if not take(descriptor):
                raise UsageError(
                    f"a device runs in {self.path} already. Stop it (pytest-ngraph device stop), or give this one "
                    "another name."
                )
            yield
        finally:
            os.close(descriptor)


def default_folder(device: str) -> Path:
    """Return the default folder of a device of this name, in the user's state folder."""
    return state_folder() / f"device-{device}"
