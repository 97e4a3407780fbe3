"""What gates of bisections have in common: an answer is a run of pytest in a child process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_ngraph.against.revision.collecting import reason
from pytest_ngraph.bisect.answer import Answer
from pytest_ngraph.bisect.child import Ran, Request, require_cases, shortened
from pytest_ngraph.bisect.options import Asked
from pytest_ngraph.bisect.question import Question, Reply


class Files(NamedTuple):
    """The files of a child: what it found before measuring, its result, and what it printed."""

    found: Path
    summary: Path
    log: Path


class ChildGate:
    """Has child processes answer, and keeps what they find for the next ones.

    Args:
        folder: for the records, results and output of the runs.
    """

    def __init__(self, asked: Asked, folder: Path) -> None:
        self._asked = asked
        self._folder = folder
        self._number = 0
        self._cases: dict[str, dict[str, Any]] = {}
        self._untracked: Sequence[str] = ()

    def learn(self, question: Question, reply: Reply) -> None:
        """Keep what follows from a reply, which may be one of an earlier session."""
        self._number += 1
        self._cases |= reply.learned.get("cases", {})
        self._untracked = reply.learned.get("untracked", self._untracked)

    def _files(self, suffix: str = "") -> Files:
        """Return the files of the next child."""
        name = self._folder / f"{self._number + 1:02d}{suffix}"
        return Files(*(name.with_suffix(each) for each in (".jsonl", ".md", ".txt")))

    def _request(
        self, question: Question, files: Files, against: str, *, path: Sequence[str] | None, arguments: Sequence[str]
    ) -> Request:
        """Return what a child is asked.

        Args:
            against: the option that names the base.
            path: its `sys.path`; None for its interpreter's own.
            arguments: what selects the cases.
        """
        options = self._asked.of_pytest(question, against, str(self._folder / "runs"), str(files.summary))
        return Request(
            path=path,
            arguments=[*arguments, *options],
            file=str(files.found),
            cases=None if question.cases is None else [self._cases[case] for case in question.cases],
            only=self._asked.only,
        )

    def _reply(self, question: Question, ran: Ran, started: float, bad: str) -> Reply:
        """Return the reply that a run is.

        Args:
            started: when the question was asked.
            bad: where the bad point is, in words: `at HEAD`.

        Raises:
            UsageError: all cases are asked for, and there is none.
        """
        learned: dict[str, Any] = {}
        if question.cases is None:
            require_cases(ran, self._asked.arguments, self._asked.only, bad)
            learned["cases"] = {case: shortened(line) for case, line in ran.lines.items()}
            learned["untracked"] = list(ran.untracked)
        if ran.lines:
            answers = ran.answers(improved=self._asked.improved)
        else:
            answer = Answer(found="untestable", reason=f"its tests do not run: {reason(ran.output)}")
            answers = dict.fromkeys(question.cases or (), answer)
        return Reply(answers, time.monotonic() - started, ran.has_measured, learned)
