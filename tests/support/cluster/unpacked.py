"""Unpacks an archive as a device does on which all its parts have arrived."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.cluster.device.arriving import Arriving
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.projects import Projects
from pytest_ngraph.cluster.project import Packed


def unpack(packed: Packed, projects: Projects, path: Path) -> None:
    """Unpack an archive.

    Args:
        packed: the archive.
        projects: where its folder is made.
        path: the file that holds it until then.

    Raises:
        NgraphError: as `Projects.unpack` does.
    """
    arriving = Arriving(path)
    arriving.add(0, packed.content)
    with arriving.whole() as archive:
        projects.unpack(packed.digest, archive)


def unpack_in(folder: DeviceFolder, packed: Packed) -> None:
    """Unpack an archive in the folder of a device."""
    unpack(packed, Projects(folder.projects), folder.arriving)
