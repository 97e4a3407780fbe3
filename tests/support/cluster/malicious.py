"""A device that means harm: `python -m cluster.malicious ADDRESS NAME CA CERT KEY HOST [KIND MARK]`.

It is the engine's own worker, without any of the rules of pytest-ngraph. With KIND and MARK, it answers every task with
this kind of harm, which would make the file MARK, and questions honestly. Without, tests send both with each task.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from distributed import Security, Worker, get_worker

from pytest_ngraph.cluster import answers
from pytest_ngraph.cluster.assignment import Task
from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.presence import introduction
from pytest_ngraph.cluster.resources import KEY, resource
from pytest_ngraph.cluster.security import Credentials, endpoint
from pytest_ngraph.record import Failure, Record

LASTING_S = 3600.0
ALWAYS: dict[str, Any] = {}
"""What is done with each task that does not say it."""


def explode(path: str, maker: int) -> Exception:
    """Make a file, unless in the process that made the bomb: the engine tries there whether it can be unpickled."""
    if os.getpid() != maker:
        Path(path).touch()
    return Exception(path)


class Bomb(Exception):
    """Makes a file, named by its text, when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return explode, (str(self), os.getpid())


def measure(data: dict[str, Any]) -> Any:
    """Stand in for `task.measure`."""
    given = ALWAYS | data
    kind, mark = given["kind"], given["mark"]
    if kind == "pickle":
        return Bomb(mark)
    if kind == "list of pickles":
        return [Bomb(mark)]
    if kind == "raises":
        raise Bomb(mark)
    if kind == "other case":
        return json.dumps({"rows": [[0, of_another_case(data)]]})
    if kind in ("keeps it", "keeps all"):
        _answer_oddly(get_worker(), once=kind == "keeps it")
        return json.dumps({"stopped": True})
    if kind == "gigabyte":
        return bytes(300 * 2**20)
    time.sleep(given["seconds"])  # nothing
    return None


def _answer_oddly(worker: Worker, *, once: bool) -> None:
    """Have a worker answer requests for its results, or the next one, in a way that the engine does not know."""
    honest = worker.handlers["get_data"]

    async def odd(*_: Any, **others: Any) -> dict[str, str]:
        del others
        if once:
            worker.handlers["get_data"] = honest
        return {"status": "mine"}

    worker.handlers["get_data"] = odd


def of_another_case(data: dict[str, Any]) -> dict[str, Any]:
    """Return a record of a case that was not asked for."""
    (case, *_) = Task.from_dict(data).cases
    failure = Failure(phase="build", kind="raised", message="it is not what was asked for")
    return Record.failed(dataclasses.replace(case, batch_size=case.batch_size + 1), failure).to_dict()


async def answer(function: Any, *arguments: Any, dask_worker: Worker) -> Any:
    """Stand in for `answers.answer`."""
    del function, dask_worker
    return Bomb(str(arguments[0]))


async def main(
    address: str, name: str, ca: str, cert: str, key: str, host: str, kind: str = "", mark: str = ""
) -> None:
    task.measure = measure
    if kind:
        ALWAYS.update(kind=kind, mark=mark, seconds=LASTING_S)
    else:
        answers.answer = answer
    security = Security(require_encryption=True, tls_ca_file=ca, tls_worker_cert=cert, tls_worker_key=key)
    if kind == "other case":  # its answers can be read
        files = Credentials(ca=Path(ca), cert=Path(cert), key=Path(key))
        security = endpoint(address, files, part="measure").security
    worker = Worker(
        address,
        name=name,
        security=security,
        nthreads=1,
        host=host,
        resources={resource(name): 1},
        startup_information={KEY: lambda _: introduction(name)},
        dashboard=False,
    )
    async with worker:
        print("joined", flush=True)
        await worker.finished()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
