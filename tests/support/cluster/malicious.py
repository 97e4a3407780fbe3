"""A device that answers whatever harms a client: `python -m cluster.malicious ADDRESS NAME CA CERT KEY`.

It is the engine's own worker, without any of the rules of pytest-ngraph.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from distributed import Security, Worker

from pytest_ngraph.cluster import answers
from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.presence import KEY, introduction, resource


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
    kind, mark = data["kind"], data["mark"]
    if kind == "pickle":
        return Bomb(mark)
    if kind == "list of pickles":
        return [Bomb(mark)]
    if kind == "raises":
        raise Bomb(mark)
    if kind == "other case":
        return json.dumps({"rows": data["rows"]})
    if kind == "gigabyte":
        return bytes(300 * 2**20)
    time.sleep(data["seconds"])  # nothing
    return None


async def answer(function: Any, *arguments: Any, dask_worker: Worker) -> Any:
    """Stand in for `answers.answer`."""
    del function, dask_worker
    return Bomb(str(arguments[0]))


async def main(address: str, name: str, ca: str, cert: str, key: str) -> None:
    task.measure = measure
    answers.answer = answer
    security = Security(require_encryption=True, tls_ca_file=ca, tls_worker_cert=cert, tls_worker_key=key)
    worker = Worker(
        address,
        name=name,
        security=security,
        nthreads=1,
        host="127.0.0.1",
        resources={resource(name): 1},
        startup_information={KEY: lambda _: introduction(name)},
        dashboard=False,
    )
    async with worker:
        print("joined", flush=True)
        await worker.finished()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
