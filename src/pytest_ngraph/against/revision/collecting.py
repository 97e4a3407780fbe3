"""The cases of a base: its own tests, collected by a pytest that runs in the base's worktree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pytest_ngraph.against.pairing import BaseCase, Collection
from pytest_ngraph.against.revision import Worktree
from pytest_ngraph.bench.beside_base.only_at_head import with_advice
from pytest_ngraph.case import Case
from pytest_ngraph.system.child import command
from pytest_ngraph.system.command import Finished, run
from pytest_ngraph.system.relocation import with_paths

TIMEOUT_S = 600.0
WRITER = command(sys.executable, "pytest_ngraph.plugin.case_writer")
COLLECTED = (0, 2, 5)
"""Exit statuses of a pytest that collected tests: without errors, with errors, and no tests at all."""
OF_OUTER_PYTEST = (
    "GITHUB_STEP_SUMMARY", "PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT",
)  # fmt: skip
"""Variables that are this run's own. A child's result is not on the page of the job."""


def collect(
    worktree: Worktree,
    arguments: Sequence[str],
    *,
    rootdir: Path,
    sys_path: Iterable[str],
    timeout_s: float = TIMEOUT_S,
) -> Collection:
    """Collect the worktree's tests.

    Paths in the cases are those of the working tree, so that the cases equal the head's; `at_base` turns them back.
    Test files that were renamed since are found at their old place, and their node ids have the new one. Errors do not
    raise: they are in the collection.

    Args:
        arguments: the arguments of this run's pytest (`config.invocation_params.args`).
        rootdir: the root folder of this run's pytest, so that node ids mean the same.
    """
    path = worktree.path(sys_path, rootdir)
    with tempfile.TemporaryDirectory(prefix="ngraph-collect-") as scratch:
        file = Path(scratch, "cases.jsonl")
        request = {
            "path": path,
            "arguments": [
                f"--rootdir={worktree.to_base(str(rootdir))}",
                f"--override-ini=cache_dir={scratch}/cache",
                *(moved_argument(argument, worktree.to_base) for argument in arguments),
            ],
            "renamed": worktree.renamed(),
            "file": str(file),
        }
        try:
            ended = run(WRITER, worktree.cwd, environment(worktree), json.dumps(request), timeout_s)
        except subprocess.TimeoutExpired:
            return Collection(failed={"": f"collecting took longer than {timeout_s:g} s"})
        return _read(file, worktree, ended, path)


def at_base(case: Case, worktree: Worktree) -> Case:
    """Return the case as the base builds it: with the worktree's paths in place of the working tree's."""
    return with_paths(case, worktree.to_base)


def reason(text: str) -> str:
    """Return why pytest could not collect: the last error in its output, or else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")]
    usage = [line for line in lines if "error:" in line.lower()]
    return next(iter((*errors[-1:], *usage[-1:], *lines[-1:])), "no reason given")


def _read(file: Path, worktree: Worktree, ended: Finished, given: Sequence[str]) -> Collection:
    """Return what the process wrote, which was started with `given` as its `sys.path`."""
    lines = _lines(file)
    failed = {line["failed"]: line["reason"] for line in lines if "failed" in line}
    is_complete = any("finished" in line for line in lines) and (failed or ended.status in COLLECTED)
    if not is_complete:
        failed = {"": reason(f"{ended.output}\n{ended.errors}")}
    cases = (
        BaseCase(line["nodeid"], with_paths(Case.from_dict(line["case"]), worktree.to_head), line["selected"])
        for line in lines
        if "case" in line
    )
    path = next((line["path"] for line in lines if "finished" in line), ())
    places = worktree.root, worktree.revision.root
    advised = {nodeid: with_advice(why, places, path or given) for nodeid, why in failed.items()}
    return Collection(tuple(cases), advised, path)


def _lines(file: Path) -> list[dict[str, Any]]:
    """Return the lines of a file, without a last line that its writer did not finish."""
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def moved_argument(argument: str, move: Callable[[str], str]) -> str:
    """Return an argument with the path in it moved: `/a/b`, `/a/b::test`, `--option=/a/b`."""
    option, equals, value = argument.partition("=")
    return f"{option}={move(value)}" if equals and option.startswith("-") else move(argument)


def environment(worktree: Worktree | None = None) -> dict[str, str]:
    """Return the environment of a child that runs a pytest of its own.

    Args:
        worktree: where it runs; None for here.
    """
    own = {name: value for name, value in os.environ.items() if name not in OF_OUTER_PYTEST}
    return own | worktree.variables(own) if worktree else own
