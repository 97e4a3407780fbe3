"""The child process of a device that measures for one session: `python -m pytest_ngraph.cluster.device.agent`.

It reads JSON lines: first where it is and its `Assignment`, then a `Task` for each group. For each it answers
`{"case": place, "record": {...}}` once a record is on disk, in between what a bench tells (`"phase"`, `"compiling"`,
`"measuring"`, `"waiting"`), and at last `{"done": true}` or `{"failed": reason}`. It owns an ordinary bench, so that
what is measured for a cluster is measured as by a run on the device itself. It ends when its input does, or by SIGTERM.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from pytest_ngraph.bench.base import Base
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.bench.conditions import Conditions
from pytest_ngraph.bench.process import Home
from pytest_ngraph.bench.progress import JournaledProgress, Progress, Silent
from pytest_ngraph.case import Case
from pytest_ngraph.cluster.assignment import PLACE, Assignment, BaseAssignment, Task
from pytest_ngraph.cluster.device.results import DeviceResults
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.gate import Rule, is_enough
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.record import Phase, Record
from pytest_ngraph.settings import Settings
from pytest_ngraph.system.child import die_with_parent, own_standard_streams
from pytest_ngraph.system.files import compiled_folder
from pytest_ngraph.system.installed import library_versions
from pytest_ngraph.system.relocation import import_path, moved, with_paths

Say = Callable[[Mapping[str, Any]], None]


class Told(Silent):
    """Tells the device's worker how far the bench is. numbers: the cases' places in their task."""

    def __init__(self, say: Say) -> None:
        self.numbers: dict[Case, int] = {}
        self._say = say

    def waiting(self, reason: str) -> None:
        self._say({"waiting": reason})

    def phase(self, case: Case, phase: Phase) -> None:
        self._say({"case": self.numbers[case], "phase": phase})

    def compiling(self, case: Case, text: str) -> None:
        self._say({"case": self.numbers[case], "compiling": text})

    def measuring(self, case: Case, share: float) -> None:
        self._say({"case": self.numbers[case], "measuring": share})


class Agent:
    """project: where the session's project is unpacked. base: likewise, of what is compared with; None without one.
    store: the device's."""

    def __init__(self, assignment: Assignment, project: Path, base: Path | None, store: Path, say: Say) -> None:
        self._say = say
        self._project = project
        self._bases: dict[Case, Case] = {}
        self._alone: set[Case] = set()
        os.chdir(project / assignment.folder)
        # The first entry is the folder that this process was started in.
        sys.path[:] = [*(str(project / entry) for entry in assignment.path), *sys.path[1:]]
        device = Device.from_dict(assignment.device)
        terms = Conditions(
            common=Settings.from_dict(assignment.settings, cache=compiled_folder()),
            profiles={device.name: device},
            machine=this_machine(),
            threads=assignment.threads,
        )
        self._told = Told(say)
        self._kept = DeviceResults(store, f"{assignment.run_id}-{_installed()}") if assignment.session else None
        progress: Progress = JournaledProgress(self._told, self._kept.enter) if self._kept else self._told
        self._bench = Bench(
            terms.settings,
            terms.target,
            progress,
            self._base(assignment, assignment.base, base) if assignment.base and base else None,
        )

    def measure(self, task: Task) -> None:
        """Say a record for each case: one that is kept, or else a new one."""
        cases = [with_paths(case, self._here) for case in task.cases]
        self._told.numbers = {case: place for place, case in enumerate(cases)}
        self._bases.clear()
        self._bases.update({cases[place]: with_paths(case, self._here) for place, case in task.bases.items()})
        self._alone.clear()
        self._alone.update(cases[place] for place in task.alone)
        left = []
        for case in cases:
            record = self._kept.of(case) if self._kept else None
            if record is None:
                left.append(case)
            else:
                self._tell(record)
        if left:
            for record in self._bench.run(left):
                if self._kept:
                    self._kept.add(record)
                self._tell(record)

    def close(self) -> None:
        """End every process, and note that this one ends in order."""
        self._bench.close()
        if self._kept:
            self._kept.close()

    def _base(self, assignment: Assignment, given: BaseAssignment, tree: Path) -> Base:
        rule = Rule.from_dict(given.rule)
        return Base(
            name=given.name,
            identity=given.name,
            home=Home(folder=tree / assignment.folder, path=import_path(sys.path, self._project, tree)),
            instead_of=(tree, self._project),
            case_of=self._bases.get,
            at_base=lambda case: with_paths(case, lambda text: moved(text, self._project, tree)),
            decided=lambda comparison: is_enough(comparison, rule),
            measures_equals=given.measures_equals,
            alone=self._alone,
        )

    def _here(self, text: str) -> str:
        return moved(text, PLACE, self._project)

    def _tell(self, record: Record) -> None:
        files: dict[str, str] = record.follows_from.get("files", {})
        if files:
            files = {moved(path, self._project, PLACE): digest for path, digest in files.items()}
            record = replace(record, follows_from=record.follows_from | {"files": files})
        self._say({"case": self._told.numbers[record.case], "record": record.to_dict()})


def _installed() -> str:
    """Names what is installed here: after an upgrade, what was measured before does not stand."""
    text = json.dumps([library_versions(), platform.python_version(), this_machine().driver])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def main() -> None:
    """Serve until the input ends."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    with own_standard_streams() as (requests, replies):

        def say(message: Mapping[str, Any]) -> None:
            with suppress(BrokenPipeError):  # whoever listened is dead, and so will this process be
                replies.write(json.dumps(message) + "\n")
                replies.flush()

        _serve(requests, say)


def _serve(requests: TextIO, say: Say) -> None:
    begun = json.loads(requests.readline())
    base = Path(begun["base"]) if begun["base"] else None
    assignment = Assignment.from_dict(begun["assignment"])
    try:
        agent = Agent(assignment, Path(begun["project"]), base, Path(begun["store"]), say)
    except (NgraphError, OSError) as error:
        say({"failed": str(error)})
        return
    try:
        for line in requests:
            try:
                agent.measure(Task.from_dict(json.loads(line)))
            except (NgraphError, OSError) as error:
                say({"failed": str(error)})
            else:
                say({"done": True})
    finally:
        agent.close()


def _end(number: int, frame: FrameType | None) -> None:
    """Leave what is being measured, and clean up."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)


if __name__ == "__main__":
    main()
