"""The child process of a device that measures for one session: `python -m pytest_ngraph.cluster.device.agent`.

It reads JSON lines: first its folders and its `Assignment`, then a `Task` for each group. For each task it writes
`{"case": place, "record": {...}}` once a record is on disk, `{"case": place, "again": reason}` for a stored record that
does not stand any more, in between the progress of its bench (`"phase"`, `"compiling"`, `"measuring"`, `"waiting"`),
and at last `{"done": true}` or `{"failed": reason}`. It owns an ordinary bench, so cases are measured exactly as in a
run on the device itself. It ends when its input ends, or on SIGTERM.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from pytest_ngraph.bench.asked import Asked, lacking
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.bench.beside_base.base import Base
from pytest_ngraph.bench.conditions import Conditions
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.bench.progress import JournaledProgress, Progress, Silent
from pytest_ngraph.bench.rounds.goal import Knowledge
from pytest_ngraph.case import Case
from pytest_ngraph.cluster.assignment import ASKED, PLACE, Assignment, BaseAssignment, Task
from pytest_ngraph.cluster.device.results import DeviceResults
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.gate import Rule
from pytest_ngraph.gate.decision import ByRule
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.record import Phase, Record
from pytest_ngraph.settings import Settings
from pytest_ngraph.system.child import die_with_parent, own_standard_streams
from pytest_ngraph.system.files import compiled_folder
from pytest_ngraph.system.installed import library_versions, variables
from pytest_ngraph.system.relocation import STANDARD_LIBRARY, completed, import_path, moved, project_path, with_paths

Say = Callable[[Mapping[str, Any]], None]
TRACEBACK = 2000
"""How many characters of a traceback are sent, the last ones."""


class SentProgress(Silent):
    """Sends the bench's progress to the device's worker.

    Attributes:
        numbers: each case's index in its task. What is about another case, such as a base's, is left out.
    """

    def __init__(self, say: Say) -> None:
        self.numbers: dict[Case, int] = {}
        self._say = say

    def waiting(self, reason: str) -> None:
        self._say({"waiting": reason})

    def phase(self, case: Case, phase: Phase) -> None:
        self._send(case, {"phase": phase})

    def doing(self, case: Case, text: str) -> None:
        self._send(case, {"compiling": text})

    def measuring(self, case: Case, share: float) -> None:
        self._send(case, {"measuring": share})

    def _send(self, case: Case, what: Mapping[str, Any]) -> None:
        if case in self.numbers:
            self._say({"case": self.numbers[case], **what})


class Agent:
    """Measures the tasks of one assignment.

    Args:
        assignment: what its tasks have in common.
        project: where the session's project is unpacked.
        base: where the project that it is compared with is unpacked, if there is one.
        store: the device's store.
        say: sends a message to the device's worker.
    """

    def __init__(self, assignment: Assignment, project: Path, base: Path | None, store: Path, say: Say) -> None:
        self._say = say
        self._project = project
        self._bases: dict[Case, Case] = {}
        self._groups: dict[Case, int] = {}
        self._of_task: dict[str, set[Case]] = {name: set() for name in ASKED}
        os.chdir(project / assignment.folder)
        # The first entry is the folder that this process was started in.
        path = [each if each == STANDARD_LIBRARY else str(project / each) for each in assignment.path]
        sys.path[:] = completed(path, sys.path[1:])
        device = Device.from_dict(assignment.device)
        conditions = Conditions(
            common=Settings.from_dict(assignment.settings, cache=compiled_folder()),
            profiles={device.name: device},
            machine=this_machine(),
            threads=assignment.threads,
        )
        self._progress = SentProgress(say)
        self._conditions = conditions
        self._against = assignment.base.identity if assignment.base else ""
        self._results = (
            DeviceResults(
                store,
                assignment.run_id,
                _installed(),
                retry=assignment.client if assignment.retry_failed else "",
                retries=assignment.retries,
            )
            if assignment.session
            else None
        )
        progress: Progress = JournaledProgress(self._progress, self._results.enter) if self._results else self._progress
        self._session = assignment.client
        self._asked = Asked(**self._of_task)  # each task refills the sets
        self._bench = Bench(
            conditions.settings,
            conditions.target,
            progress,
            self._base(assignment, assignment.base, base) if assignment.base and base else None,
            asked=self._asked,
            knowledge=Knowledge(groups=self._groups),
        )

    def measure(self, task: Task) -> None:
        """Send a record of each case: the stored one if there is one, else a new one."""
        cases = [with_paths(case, self._here) for case in task.cases]
        self._progress.numbers = {case: place for place, case in enumerate(cases)}
        self._groups[cases[0].group] = max(task.whole, len(cases))
        self._bases.clear()
        self._bases.update({cases[place]: with_paths(case, self._here) for place, case in task.bases.items()})
        for name, chosen in self._of_task.items():
            chosen.clear()
            chosen.update(cases[place] for place in getattr(task, name))
        left = []
        for case in cases:
            record = self._results.of(case, self._would_follow_from) if self._results else None
            if record is not None and self._lacks(record, case):
                record = None
            if record is not None:
                self._send(record)
                continue
            left.append(case)
            if self._results and case in self._results.again:
                self._say({"case": self._progress.numbers[case], "again": self._results.again.pop(case)})
        if left:
            for measured in self._bench.run(left):
                record = replace(measured, session=self._session)
                if self._results:
                    self._results.add(record)
                self._send(record)

    def close(self) -> None:
        """End every process, and note in the store that this one was not killed."""
        self._bench.close()
        if self._results:
            self._results.close()

    def _would_follow_from(self, record: Record) -> dict[str, Any]:
        """Return what a stored record would follow from if its case were measured now."""
        return self._conditions.would_follow_from(record, self._asked, self._against)

    def _lacks(self, record: Record, case: Case) -> bool:
        """Return whether more is asked of a case than an earlier task has measured."""
        lacks_calls = case in self._asked.calls and record.has_single_calls and not record.calls
        return lacks_calls or any(lacking(record, case, self._asked))

    def _base(self, assignment: Assignment, given: BaseAssignment, tree: Path) -> Base:
        return Base(
            name=given.name,
            identity=given.identity,
            home=Home(folder=tree / assignment.folder, path=import_path(sys.path, self._project, tree)),
            instead_of=(tree, self._project),
            own_path=project_path([], self._project),
            case_of=self._bases.get,
            at_base=lambda case: with_paths(case, lambda text: moved(text, self._project, tree)),
            decides=ByRule(Rule.from_dict(given.rule)),
            explain=given.explain,
            measures_equals=given.measures_equals,
            measures_unchanged=lambda case: case in self._asked.figures,
        )

    def _here(self, text: str) -> str:
        return moved(text, PLACE, self._project)

    def _away(self, text: str) -> str:
        return moved(text, self._project, PLACE)

    def _send(self, record: Record) -> None:
        """Send a record, with `PLACE` instead of the project's folder in its paths."""
        place = self._progress.numbers[record.case]
        record = replace(record, case=with_paths(record.case, self._away))
        files: dict[str, str] = record.follows_from.get("files", {})
        if files:
            files = {self._away(path): digest for path, digest in files.items()}
            record = replace(record, follows_from=record.follows_from | {"files": files})
        self._say({"case": place, "record": record.to_dict()})


def _installed() -> str:
    """Return a digest of what this device runs cases with. After a change, a case that crashed is tried again."""
    text = json.dumps([library_versions(), platform.python_version(), this_machine().driver, variables()])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def main() -> None:
    """Serve until the input ends."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    with own_standard_streams() as (requests, replies):

        def say(message: Mapping[str, Any]) -> None:
            with suppress(BrokenPipeError):  # the reader is dead, and this process is about to end as well
                replies.write(json.dumps(message) + "\n")
                replies.flush()

        _serve(requests, say)


def _serve(requests: TextIO, say: Say) -> None:
    start = json.loads(requests.readline())
    base = Path(start["base"]) if start["base"] else None
    assignment = Assignment.from_dict(start["assignment"])
    try:
        agent = Agent(assignment, Path(start["project"]), base, Path(start["store"]), say)
    except (NgraphError, OSError) as error:
        say({"failed": str(error)})
        return
    try:
        for line in requests:
            try:
                agent.measure(Task.from_dict(json.loads(line)))
            except (NgraphError, OSError) as error:
                say({"failed": str(error)})
            except Exception as error:  # the next agent would only measure the group again, and fail as well
                where = traceback.format_exc()[-TRACEBACK:]
                say({"failed": f"the measuring process failed: {type(error).__name__}: {error}\n{where}"})
                return
            else:
                say({"done": True})
    finally:
        agent.close()


def _end(number: int, frame: FrameType | None) -> None:
    """Stop measuring, and clean up."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)


if __name__ == "__main__":
    main()
