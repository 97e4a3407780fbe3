"""Functions that run on a device for a client.

The engine sends only a function's name and plain data, so the device uses the code and versions installed there.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from distributed import Worker, get_worker

from pytest_ngraph.cluster.answers import as_text, failure
from pytest_ngraph.cluster.assignment import Task
from pytest_ngraph.cluster.audit import AuditLog
from pytest_ngraph.cluster.device.background import aside
from pytest_ngraph.cluster.device.plugin import DevicePlugin, plugin_of
from pytest_ngraph.cluster.device.policy import await_fitness
from pytest_ngraph.cluster.device.projects import ProjectGone, Projects
from pytest_ngraph.cluster.device.quiet import Unwanted
from pytest_ngraph.cluster.device.reservation import Reservations
from pytest_ngraph.cluster.device.resident import Stopped
from pytest_ngraph.cluster.resources import KEY
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.system.files import is_digest

MESSAGE_S = 1.0
"""Time between two messages on how far the rounds are."""


def topic(client: str) -> str:
    """Return the topic of messages to a client on the progress of its tasks."""
    return f"{KEY}-{client}"


def measure(data: dict[str, Any]) -> str:
    """Measure the cases of a `Task`, except those whose records an earlier run of the same task has stored.

    Returns:
        JSON: one of `{"rows": [[index, record], ...], "again": [[index, reason], ...]}`, where `again` says why stored
        records did not stand any more; `{"reserved": {"by": user, "left_s": seconds}}`, if the device is reserved for
        somebody else; `{"refused": reason, "machine": name}`, if its policy does not allow to measure now; `{"needs":
        digests, "worker": address}`, if these projects are not on this device; `{"stopped": true}`; and `{"failed":
        why}`.
    """
    try:
        return as_text(_measured(data))
    except Exception as error:
        return as_text(failure(error))


def _measured(data: dict[str, Any]) -> dict[str, Any]:
    worker, task = get_worker(), Task.from_dict(data)
    device = plugin_of(worker)
    say = _Messages(worker, task)
    if held := Reservations(device.folder.reservation).against(task.by):
        return {"reserved": {"by": held.by, "left_s": held.until - time.time()}}
    try:
        while not (needed := _needed(device, task, worker, say)):
            if refusal := _refusal(device, task, say):
                return {"refused": refusal, "machine": device.device}
            with suppress(ProjectGone):  # the session of another client has ended, which had the same one
                return _run(device, task, say)
        return {"needs": needed, "worker": worker.address}
    except (Stopped, Unwanted):
        return {"stopped": True}


def _needed(device: DevicePlugin, task: Task, worker: Worker, say: _Messages) -> list[str]:
    """Return the projects of a task that are not on this device, which is then kept free for them."""
    if lacking(task.assignment.projects, worker):
        device.quiet.reserve(task.assignment.client, lambda reason: say({"waiting": reason}))
        if needed := lacking(task.assignment.projects, worker):
            return needed
        device.quiet.end(task.assignment.client)  # they came while this waited
    return []


def _run(device: DevicePlugin, task: Task, say: _Messages) -> dict[str, Any]:
    with device.quiet.measuring(), aside(os.getpid(), measured_cores(task)):
        _log(device, task)
        measured = device.resident.measure(task, device.folder, say)
    for problem in device.enforcer.enforce(device.quotas, device.folder):
        device.say(problem)
    return measured._asdict()


def measured_cores(task: Task) -> set[int]:
    """Return the logical CPUs that the cases of a task compute on."""
    device, threads = Device.from_dict(task.assignment.device), task.assignment.threads
    return {core for case in task.cases for core in device.target(case, this_machine(), threads).cores}


def lacking(digests: Sequence[str], dask_worker: Worker) -> list[str]:
    """Return those of these projects that are not on this device."""
    projects = Projects(plugin_of(dask_worker).folder.projects)
    return [digest for digest in digests if not projects.has(digest)]


async def receive(digest: str, client: str, number: int, count: int, content: bytes, dask_worker: Worker) -> bool:
    """Take a part of a project's archive, and after the last one unpack the project on this device.

    Args:
        digest: the archive's.
        client: who sends it.
        number: the part's, from 0.
        count: how many parts the archive has.
        content: the part.

    Returns:
        Whether the part was taken. It is refused while something is measured on this machine, once its client was
        stopped, and if it does not follow on the part before.
    """
    device = plugin_of(dask_worker)
    if not device.quiet.begin(client):
        return False
    goes_on = False
    try:
        taken = await asyncio.to_thread(_take, digest, client, number, count, content, device)
        goes_on = taken and number + 1 < count
        return taken
    finally:
        if not goes_on:
            device.quiet.end(client)


async def stop(client: str, digests: Sequence[str], dask_worker: Worker) -> None:
    """Stop what is measured on this device for a client, and remove its projects.

    A project that is measured for another client stays; if another client is yet to use it, it sends it again.
    """
    device = plugin_of(dask_worker)
    device.quiet.stop(client)
    await asyncio.to_thread(_leave, client, [each for each in digests if is_digest(each)], device)


def _leave(client: str, digests: Sequence[str], device: DevicePlugin) -> None:
    device.resident.release(client)
    device.arriving.forget(client)
    projects = Projects(device.folder.projects)
    for digest in digests:
        projects.remove(digest)


def _refusal(device: DevicePlugin, task: Task, say: _Messages) -> str:
    client = task.assignment.client
    return await_fitness(
        device.policy,
        device.health,
        lambda reason: say({"waiting": reason}),
        lambda: not device.quiet.is_unwanted(client),
    )


def _log(device: DevicePlugin, task: Task) -> None:
    """Write who runs what into the audit log. Raises `NgraphError` if that is not possible: then nothing is run."""
    assignment = task.assignment
    try:
        AuditLog(device.folder.audit).write(
            by=task.by,
            device=device.device,
            projects=assignment.projects,
            session=assignment.session,
            client=assignment.client,
            cases=[case.id for case in task.cases],
        )
    except OSError as error:
        raise NgraphError(f"nothing is run here, because the audit log cannot be written: {error}.") from None


def _take(digest: str, client: str, number: int, count: int, content: bytes, device: DevicePlugin) -> bool:
    arriving, projects = device.arriving, Projects(device.folder.projects)
    if not arriving.add(number, content, client, digest):
        return False
    if number + 1 == count:
        with arriving.whole() as archive:
            projects.unpack(digest, archive)
    if device.quiet.is_unwanted(client):  # it was stopped in between
        arriving.forget(client)
        projects.remove(digest)
        return False
    return True


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
