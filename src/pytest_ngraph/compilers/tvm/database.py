"""Keep trials on disk in MetaSchedule's database.

There is a folder for each artifact, batch size, target, thread count and version of TVM.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ngraph.system.files import make_private, user_folder

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Artifact

WORKLOADS, RECORDS = "database_workload.json", "database_tuning_record.json"

FAILED_S = 1e10
"""Seconds that MetaSchedule records for a candidate that failed. It can write infinity, but not read it."""


class Trial(NamedTuple):
    """A schedule that was timed.

    Attributes:
        trace: what it does to the kernel, as text.
        seconds: `FAILED_S` where it failed.
    """

    trace: str
    seconds: float


class Database:
    """The trials of one model's kernels. Opening it drops a line that a killed search left unfinished.

    Attributes:
        folder: where it is kept.
        tvm: MetaSchedule's database over the same files.
    """

    def __init__(self, folder: Path) -> None:
        from tvm.s_tir import meta_schedule

        make_private(folder)
        for name in (WORKLOADS, RECORDS):
            drop_unfinished_line(folder / name)
        self.folder = folder
        self.tvm = meta_schedule.database.JSONDatabase(work_dir=str(folder))

    def trials(self) -> Iterator[tuple[str, Trial]]:
        """Yield every trial with its kernel's `workload_hash`, in the order in which they were made.

        MetaSchedule itself sorts them by speed, which shows neither which one is the rule's nor when the last gain was.
        """
        workloads = [json.loads(line)[0] for line in _lines(self.folder / WORKLOADS)]
        for line in _lines(self.folder / RECORDS):
            workload, record = json.loads(line)
            yield workloads[workload], _trial(record)

    def records(self, workload: Any) -> list[Any]:
        """Return all records of a kernel."""
        return [record for record in self.tvm.get_all_tuning_records() if record.workload.same_as(workload)]

    def commit(self, record: Any) -> None:
        self.tvm.commit_tuning_record(record)

    def fastest(self, workload: Any, count: int) -> list[Any]:
        """Return up to `count` records of a kernel that did not fail, the fastest first."""
        return list(self.tvm.get_top_k(workload, count))


def workload_hash(workload: Any) -> str:
    """Return the hash that identifies a kernel in the database."""
    text: str = workload.as_json()[0]
    return text


def trial_of(record: Any) -> Trial:
    """Return the trial that a `TuningRecord` holds."""
    return _trial(record.as_json())


def _trial(record: list[Any]) -> Trial:
    trace, seconds = record[:2]
    return Trial(json.dumps(_as_written(trace)), sum(seconds) / len(seconds) if seconds else FAILED_S)


def _as_written(value: Any) -> Any:
    """Return a part of a trace as MetaSchedule writes it: `true` as 1."""
    if isinstance(value, list):
        return [_as_written(part) for part in value]
    return int(value) if isinstance(value, bool) else value


def folder(artifact: Artifact, tvm_target: Any) -> Path:
    """Return the folder that keeps an artifact's trials.

    Results for one batch size are not valid for another, nor are one version's for another version of TVM: its code
    for the same schedule may be slower, or wrong. The target's text names the processor and the number of threads.
    """
    import tvm

    case = artifact.case
    target = hashlib.sha256(f"{tvm_target} {tvm.__version__}".encode()).hexdigest()[:12]
    name = f"{artifact.digest[:16]}-b{case.batch_size}-{target}"
    return user_folder() / "tvm" / name


@contextmanager
def opened(artifact: Artifact, tvm_target: Any, draw: int) -> Iterator[Path]:
    """Yield the folder for an artifact's trials: the one that is kept, or a new one for a draw of its own."""
    if not draw:
        yield folder(artifact, tvm_target)
        return
    with tempfile.TemporaryDirectory(prefix="ngraph-tvm-") as own:
        yield Path(own)


def drop_unfinished_line(path: Path) -> None:
    """Cut a file after its last complete line, because TVM refuses to load an incomplete one."""
    if not path.exists():
        return
    content = path.read_bytes()
    complete = content.rfind(b"\n") + 1
    if complete != len(content):
        os.truncate(path, complete)


def _lines(path: Path) -> Iterator[str]:
    if path.exists():
        with path.open() as file:
            yield from file
