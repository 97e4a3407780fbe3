"""Functions that run on a device for a client.

The engine sends only a function's name and plain data, so the device uses the code and versions installed there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from distributed import Worker, get_worker

from pytest_ngraph.cluster.answers import as_text
from pytest_ngraph.cluster.assignment import Task
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.projects import Projects
from pytest_ngraph.cluster.device.resident import Resident, Stopped
from pytest_ngraph.cluster.presence import KEY
from pytest_ngraph.cluster.project import Packed, is_digest
from pytest_ngraph.errors import NgraphError

MESSAGE_S = 1.0
"""Time between two messages on how far the rounds are."""

_RESIDENT = Resident()


def topic(client: str) -> str:
    """Return the topic of messages to a client on the progress of its tasks."""
    return f"{KEY}-{client}"


def measure(data: dict[str, Any]) -> str:
    """Measure the cases of a `Task`, except those whose records an earlier run of the same task has stored.

    Returns:
        JSON: one of `{"rows": [[index, record], ...], "again": [[index, reason], ...]}`, where `again` says why stored
        records did not stand any more; `{"needs": digests, "worker": address}`, if these projects are not on this
        device; `{"stopped": true}`; and `{"failed": why}`.
    """
    try:
        return as_text(_measured(data))
    except NgraphError as error:
        return as_text({"failed": str(error)})
    except Exception as error:  # an exception itself would travel as a pickle
        return as_text({"failed": f"{type(error).__name__}: {error}"})


def _measured(data: dict[str, Any]) -> dict[str, Any]:
    worker, task = get_worker(), Task.from_dict(data)
    folder = _folder(worker)
    if needed := lacking(task.assignment.projects, worker):
        return {"needs": needed, "worker": worker.address}
    try:
        return _RESIDENT.measure(task, folder, _Messages(worker, task))._asdict()
    except Stopped:
        return {"stopped": True}


def lacking(digests: Sequence[str], dask_worker: Worker) -> list[str]:
    """Return those of these projects that are not on this device."""
    projects = Projects(_folder(dask_worker).projects)
    return [digest for digest in digests if not projects.has(digest)]


async def receive(digest: str, content: bytes, dask_worker: Worker) -> None:
    """Unpack a project on this device."""
    projects = Projects(_folder(dask_worker).projects)
    await asyncio.to_thread(projects.unpack, Packed(digest=digest, content=content))


async def stop(client: str, digests: Sequence[str], dask_worker: Worker) -> None:
    """Stop what is measured on this device for a client, and remove its projects.

    A project that is measured for another client stays; if another client is yet to use it, it sends it again.
    """
    await asyncio.to_thread(_leave, client, [each for each in digests if is_digest(each)], _folder(dask_worker))


def _leave(client: str, digests: Sequence[str], folder: DeviceFolder) -> None:
    _RESIDENT.release(client)
    projects = Projects(folder.projects)
    for digest in digests:
        projects.remove(digest)


def close() -> None:
    """Stop what is measured on this device for any client. Must be called in the device's own process."""
    _RESIDENT.close()


def _folder(worker: Worker) -> DeviceFolder:
    device: Any = worker.plugins[KEY]
    folder: DeviceFolder = device.folder
    return folder


class _Messages:
    """Sends the client messages on a task's progress. They are only for display, since some may get lost."""

    def __init__(self, worker: Worker, task: Task) -> None:
        self._worker = worker
        self._topic = topic(task.assignment.client)
        self._group = task.group
        self._sent_at = 0.0

    def __call__(self, message: dict[str, Any]) -> None:
        if "measuring" in message:
            if time.monotonic() - self._sent_at < MESSAGE_S:
                return
            self._sent_at = time.monotonic()
        self._worker.log_event(self._topic, message | {"group": self._group, "worker": self._worker.name})
