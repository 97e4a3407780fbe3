"""The database of trials on disk: MetaSchedule's, one folder for each artifact, batch size, target and threads."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Artifact

FILES = ("database_workload.json", "database_tuning_record.json")


def folder(artifact: Artifact, tvm_target: Any) -> Path:
    """Where the trials of an artifact are kept. Nothing found for one batch size holds for another.

    The target's text names the processor and the number of threads.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    case = artifact.case
    target = hashlib.sha256(str(tvm_target).encode()).hexdigest()[:12]
    name = f"{artifact.digest[:16]}-b{case.batch_size}-{target}"
    return cache / "pytest-ngraph" / "tvm" / name


def open_database(path: Path) -> Any:
    """The database in a folder, which is made if need be. What a killed search wrote halfway is dropped."""
    from tvm.s_tir import meta_schedule

    path.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        drop_unfinished_line(path / name)
    return meta_schedule.database.JSONDatabase(work_dir=str(path))


def drop_unfinished_line(path: Path) -> None:
    """End a file after its last complete line: TVM refuses to load it otherwise."""
    if not path.exists():
        return
    content = path.read_bytes()
    complete = content[: content.rfind(b"\n") + 1]
    if complete != content:
        path.write_bytes(complete)
