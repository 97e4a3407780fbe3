"""One run of the gate in a child process, and what it answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pytest_ngraph.against.revision.collecting import reason
from pytest_ngraph.bisect.answer import Answer, Found
from pytest_ngraph.errors import UsageError
from pytest_ngraph.stats import Estimate
from pytest_ngraph.system.child import command
from pytest_ngraph.system.command import running

MODULE = "pytest_ngraph.plugin.bisect_step"
PATIENCE_S = 20.0
"""How long an interrupted pytest may take to remove what it made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a child is asked.

    Attributes:
        path: its `sys.path`; None for its interpreter's own.
        arguments: of its pytest.
        file: where it writes what it finds before measuring.
        cases: `{"nodeid", "data"}` of the cases that are asked about; None for all.
        only: of all cases, those whose id contains one of these texts; empty for all.
        builds: whether it builds the cases before it opens the base, and writes what they are built from.
        known: `{"case", "side", "point"}`: a point where the case is built so, and whose answer is known.
        instead_of: its copy of a repository, and the repository itself; None where it measures the repository.
        renamed: the place there of each file that the bad point has elsewhere, by that place moved there.
    """

    path: Sequence[str] | None
    arguments: Sequence[str]
    file: str
    cases: Sequence[Mapping[str, Any]] | None
    only: Sequence[str] = ()
    builds: bool = False
    known: Sequence[Mapping[str, Any]] = ()
    instead_of: tuple[str, str] | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of a child.

    Attributes:
        lines: what it wrote of each case, by case (`plugin.bisect_step`).
        bases: what each case is built from at the base, by case, as far as it was built there.
        untracked: its ini file's patterns of files that git does not track.
        result: the result of its run, as `--ngraph-summary` has it as JSON; empty where it did not come to that.
        status: its exit status.
        output: what it printed.
    """

    lines: Mapping[str, dict[str, Any]]
    bases: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    untracked: Sequence[str] = ()
    result: Mapping[str, Any] = field(default_factory=dict)
    status: int = 0
    output: str = ""

    @property
    def _why_ended(self) -> str:
        return f"its run ended before it was measured: {reason(self.output)}"

    @property
    def has_measured(self) -> bool:
        """Whether anything was measured, and not only built."""
        return any(each["launches"] for each in self.result.get("verdicts", ()))

    def answers(self, *, improved: bool) -> dict[str, Answer]:
        """Return the answers about the cases that it found."""
        verdicts = {each["id"]: each for each in self.result.get("verdicts", ())}
        results = {each["id"]: each for each in self.result.get("results", ())}
        found = {}
        for case, line in self.lines.items():
            if problem := line.get("problem"):
                found[case] = Answer(found="untestable", reason=problem)
            elif not line.get("same_as"):
                failed = results.get(line["own"], {}).get("problem") or self._why_ended
                found[case] = answer_of(verdicts.get(line["own"]), failed, improved=improved)
        return found


def answer_of(verdict: Mapping[str, Any] | None, failed: str, *, improved: bool) -> Answer:
    """Return the answer that a verdict of the gate is, as JSON has it.

    Args:
        failed: why there is none.
        improved: whether `worse` means faster.
    """
    if verdict is None:
        return Answer(found="untestable", reason=failed)
    name = verdict["name"]
    answers: dict[str, Found] = {"regressed": "fine", "improved": "fine", "unchanged": "fine"}
    answers["improved" if improved else "regressed"] = "worse"
    undecided: Found = "untestable" if verdict["broken"] else "undecided"
    found = undecided if name == "inconclusive" else answers.get(name, "untestable")
    given = verdict["ratio"]
    bounded = given if given and None not in given.values() else None
    return Answer(
        found=found,
        ratio=Estimate(**bounded) if bounded else None,
        confidence=verdict["confidence"],
        why=verdict["why"],
        reason=verdict["reason"],
    )


def shortened(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the next children have to know of a case."""
    return {name: line[name] for name in ("nodeid", "data")}


def require_cases(ran: Ran, arguments: Sequence[str], only: Sequence[str], where: str) -> None:
    """Raise `UsageError` if a run has found no case."""
    if ran.lines:
        return
    if ran.status not in (0, 5):
        raise UsageError(f"pytest cannot run {where}: {reason(ran.output)}")
    chosen = f" whose id contains {' or '.join(only)}" if only else ""
    given = " ".join(arguments) or "no arguments"
    raise UsageError(
        f"pytest finds no case{chosen} {where} (with {given}). Give what selects your benchmarks after two dashes: "
        f"pytest-ngraph bisect GOOD BAD -- benchmarks/ -k resnet18"
    )


def run(python: str, request: Request, folder: Path, summary: Path, log: Path, variables: Mapping[str, str]) -> Ran:
    """Run a child, and return what came of it.

    Args:
        folder: its working folder.
        summary: Markdown file of its result; the data are beside it.
        log: gets what it prints.
        variables: its environment.
    """
    for file in (Path(request.file), summary, summary.with_suffix(".json")):  # of a session that was killed
        file.unlink(missing_ok=True)
    with log.open("w") as output:
        status = _status(command(python, MODULE), folder, variables, json.dumps(asdict(request)), output)
    written = _text(Path(request.file)).splitlines(keepends=True)
    lines = [json.loads(line) for line in written if line.endswith("\n")]  # a killed child may not have ended its last
    data = _text(summary.with_suffix(".json"))
    return Ran(
        lines={line["case"]: line for line in lines if "case" in line},
        bases={line["base_of"]: line["side"] for line in lines if "base_of" in line},
        untracked=next((line["untracked"] for line in lines if "untracked" in line), ()),
        result=json.loads(data) if data else {},
        status=status,
        output=log.read_text(errors="replace"),
    )


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def _status(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], given: str, output: Any) -> int:
    """Run a command and return its exit status. When this process is interrupted, the command is, too."""
    streams = {"stdin": subprocess.PIPE, "stdout": output, "stderr": subprocess.STDOUT}
    with running(arguments, folder, environment, _end, **streams) as process:
        process.communicate(given.encode())
    return process.returncode


def _end(process: subprocess.Popen[bytes]) -> None:
    """Have the command remove what it made, or else kill it."""
    with suppress(ProcessLookupError, PermissionError):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
