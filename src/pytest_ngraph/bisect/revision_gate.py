"""Answers about commits: the gate runs in a worktree of one, beside another."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pytest_ngraph.against.revision import Revision, Worktree
from pytest_ngraph.against.revision.collecting import moved_argument, reason
from pytest_ngraph.bisect.answer import Answer
from pytest_ngraph.bisect.child import Ran, Request, require_cases, run, shortened
from pytest_ngraph.bisect.options import Asked
from pytest_ngraph.bisect.question import Question, Reply
from pytest_ngraph.system.child import search_path

SHORT = 7


class RevisionGate:
    """Checks a commit out, builds the cases there, and measures those whose answer is not known yet.

    What a case is built from is kept. Where it is the same as at a commit that was answered beside the same base, that
    answer holds: the gate would compare the same two programs once more.

    Args:
        bad: the bad commit, and the working tree.
        folder: for the records, results and output of the runs.
    """

    def __init__(self, asked: Asked, bad: Revision, folder: Path) -> None:
        self._asked = asked
        self._bad = bad
        self._folder = folder
        self._number = 0
        self._cases: dict[str, dict[str, Any]] = {}
        self._answered: dict[tuple[str, str, str], tuple[dict[str, Any], Answer]] = {}

    def ask(self, question: Question) -> Reply:
        """Answer a question. Raise `UsageError` if the bad commit has no tests to measure."""
        started = time.monotonic()
        name = self._folder / f"{self._number + 1:02d}-{question.head[:SHORT]}"
        with Worktree(self._revision(question.head), Path(tempfile.gettempdir())) as tree:
            ran = run(sys.executable, self._request(question, tree, name), tree.cwd, *_files(name))
        learned: dict[str, Any] = {
            "sides": {case: line["side"] for case, line in ran.lines.items() if line.get("side")}
        }
        if question.cases is None:
            require_cases(ran, self._asked.arguments, self._asked.only, f"at {self._bad}")
            learned["cases"] = {case: shortened(line) for case, line in ran.lines.items()}
        reply = Reply(self._answers(question, ran), time.monotonic() - started, ran.has_measured, learned)
        self.learn(question, reply)
        return reply

    def learn(self, question: Question, reply: Reply) -> None:
        """Keep what follows from a reply, which may be one of an earlier session."""
        self._number += 1
        self._cases |= reply.learned.get("cases", {})
        for case, side in reply.learned["sides"].items():
            answer = reply.answers.get(case)
            if answer and answer.found in ("worse", "fine"):
                self._answered[case, question.base, question.head] = side, answer

    def _answers(self, question: Question, ran: Ran) -> dict[str, Answer]:
        """Return the answers of a run, and those that hold because a case is built as at another commit."""
        if not ran.lines:
            problem = f"its tests do not run: {reason(ran.output)}"
            return {case: Answer(found="untestable", reason=problem) for case in question.cases or ()}
        answers = ran.answers(improved=self._asked.improved)
        for case, line in ran.lines.items():
            if same := line.get("same_as"):
                _, answer = self._answered[case, question.base, same]
                answers[case] = dataclasses.replace(answer, same_as=same)
        return answers

    def _request(self, question: Question, tree: Worktree, name: Path) -> Request:
        places = tree.root, self._bad.root
        options = self._asked.of_pytest(
            question, f"--ngraph-against={question.base}", str(self._folder / "runs"), str(_files(name)[0])
        )
        return Request(
            path=tree.path(search_path()),
            arguments=[*(moved_argument(each, tree.to_base) for each in self._asked.arguments), *options],
            file=str(name.with_suffix(".jsonl")),
            cases=None if question.cases is None else [self._cases[case] for case in question.cases],
            only=self._asked.only,
            known=[
                {"case": case, "point": point, "side": side}
                for (case, base, point), (side, _) in self._answered.items()
                if base == question.base and (question.cases is None or case in question.cases)
            ],
            instead_of=(str(places[0]), str(places[1])),
        )

    def _revision(self, sha: str) -> Revision:
        return dataclasses.replace(self._bad, name=sha, sha=sha)


def _files(name: Path) -> tuple[Path, Path]:
    return name.with_suffix(".md"), name.with_suffix(".txt")
