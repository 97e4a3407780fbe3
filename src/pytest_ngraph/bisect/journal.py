"""The journal of a bisection, from which `--resume` continues: what was asked for, and every reply of the gate."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_ngraph.bisect.options import Asked
from pytest_ngraph.bisect.question import LearningGate, Question, Reply
from pytest_ngraph.errors import StoreError, UsageError
from pytest_ngraph.store import LATEST
from pytest_ngraph.store.journal import keep_out_of_git, new_id
from pytest_ngraph.store.lines import lines
from pytest_ngraph.system.files import make_private, sync_folder, take, write_line

FOLDER = "bisections"
SUFFIX = ".jsonl"
ENDED = "outcome"


class Journal:
    """One bisection in a store: a file with what was asked for, a line for each reply, and in the end the outcome.

    Args:
        store: folder of the store.
        name: the bisection's id.

    Attributes:
        folder: for the records and the output of its runs.
    """

    def __init__(self, store: Path, name: str) -> None:
        self.name = name
        self.folder = store / FOLDER / name
        self._path = self.folder.with_suffix(SUFFIX)
        make_private(self.folder)
        keep_out_of_git(store)
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if not take(self._file):
            os.close(self._file)
            raise StoreError(f"bisection {name} is under way in another process. Wait for it, or end that process.")

    @classmethod
    def begin(cls, store: Path, asked: Asked, ends: Mapping[str, str]) -> Journal:
        """Begin a bisection between these ends, in the working folder."""
        journal = cls(store, new_id(store / FOLDER))
        begun_in = os.path.relpath(Path.cwd(), store)  # so that a project may be moved with its store
        journal.write({"asked": asked.to_dict(), "ends": dict(ends), "folder": begun_in})
        sync_folder(journal.folder.parent)
        return journal

    @classmethod
    def reopen(cls, store: Path, name: str) -> Journal:
        """Resume a bisection. Raise `UsageError` if there is none of this name that has not ended."""
        known = unfinished(store)
        if name == LATEST and not known:
            raise UsageError(f"{store} has no bisection that was interrupted. Begin one: pytest-ngraph bisect GOOD BAD")
        if name != LATEST and name not in known:
            raise UsageError.unknown("unfinished bisection", name, known)
        return cls(store, known[-1] if name == LATEST else name)

    def close(self) -> None:
        """Release the bisection, so that another session can resume it."""
        os.close(self._file)

    def write(self, data: Mapping[str, Any]) -> None:
        """Write a line, and wait until it is on disk."""
        write_line(self._file, json.dumps(data))

    def lines(self) -> list[dict[str, Any]]:
        """Return what was written, without a line that a killed process did not finish."""
        return _data(self._path)

    @property
    def asked(self) -> Asked:
        """What was asked for."""
        return Asked.from_dict(self.lines()[0]["asked"])

    @property
    def ends(self) -> dict[str, str]:
        """What replaces the ends that were asked for: commits, where a branch may have moved since."""
        found: dict[str, str] = self.lines()[0]["ends"]
        return found

    @property
    def begun_in(self) -> Path:
        """The folder in which it was begun: paths that were asked for are relative to it. Raises `UsageError`."""
        store = self.folder.parent.parent
        found = (store / str(self.lines()[0].get("folder", Path.cwd()))).resolve()
        if not found.is_dir():
            raise UsageError(
                f"bisection {self.name} was begun in {found}, and its paths are relative to that folder, which is not "
                "there. Make it again, or begin another bisection."
            )
        return found

    def remove(self) -> None:
        """Remove a bisection that was asked for by mistake. Do nothing once it has a reply."""
        if len(self.lines()) <= 1:
            self._path.unlink(missing_ok=True)
            shutil.rmtree(self.folder, ignore_errors=True)


class JournaledGate:
    """Answers from the journal what was answered before, and keeps every new reply."""

    def __init__(self, gate: LearningGate, journal: Journal) -> None:
        self._gate = gate
        self._journal = journal
        replies = [line for line in journal.lines() if "question" in line]
        self._known = [(line["question"], Reply.from_dict(line["reply"])) for line in replies]

    @property
    def earlier(self) -> int:
        """How many replies of earlier sessions are still to come."""
        return len(self._known)

    def ask(self, question: Question) -> Reply:
        """Return the reply: that of an earlier session, which asked the same questions in the same order, or a new."""
        if self._known and self._known[0][0] == question.to_dict():
            _, reply = self._known.pop(0)
            self._gate.learn(question, reply)
            return reply
        self._known.clear()
        reply = self._gate.ask(question)
        self._journal.write({"question": question.to_dict(), "reply": reply.to_dict()})
        return reply


def unfinished(store: Path) -> list[str]:
    """Return the bisections of a store that did not end, oldest first."""
    files = sorted((store / FOLDER).glob("*" + SUFFIX))
    return [file.stem for file in files if (written := _data(file)) and ENDED not in written[-1]]


def _data(file: Path) -> list[dict[str, Any]]:
    """Return the data of the lines that are whole. One that was torn is ended by the next session."""
    return [line.data for line in lines(file) if line.is_ended and line.data is not None]
