"""Answers about commits: the gate runs in a worktree of one, beside another."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pytest_ngraph.against.revision import Revision, Worktree
from pytest_ngraph.against.revision.collecting import environment, moved_argument
from pytest_ngraph.against.revision.resolve import SHORT
from pytest_ngraph.bisect.answer import Answer
from pytest_ngraph.bisect.child import Ran, Request, run
from pytest_ngraph.bisect.gate import ChildGate, Files
from pytest_ngraph.bisect.options import Asked
from pytest_ngraph.bisect.question import Question, Reply
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.gate.verdict import SAME
from pytest_ngraph.stats import Estimate
from pytest_ngraph.system.child import search_path


class RevisionGate(ChildGate):
    """Checks a commit out, builds the cases there, and measures those whose answer is not known yet.

    What a case is built from is kept. Where it is the same as at the base, nothing has changed; where it is the same as
    at a commit that was answered beside the same base, that answer holds: the gate would compare the same two programs
    once more. An accusation is always measured, at its own level and with profiles.

    Args:
        bad: the bad commit, and the working tree.
        folder: for the records, results and output of the runs.
    """

    def __init__(self, asked: Asked, bad: Revision, folder: Path) -> None:
        super().__init__(asked, folder)
        self._bad = bad
        self._sides: dict[tuple[str, str], dict[str, Any]] = {}
        self._answered: dict[tuple[str, str, str], Answer] = {}

    def ask(self, question: Question) -> Reply:
        """Answer a question. A commit that cannot be checked out cannot be tested.

        Raises:
            NgraphError: the bad commit cannot be checked out or has no tests to measure, or nothing can be checked out.
        """
        started = time.monotonic()
        try:
            ran = self._ran(question)
        except NgraphError as error:
            if question.cases is None:
                raise
            with self._worktree(question.base):  # it is this commit, and not a full disk
                answer = Answer(found="untestable", reason=str(error))
            answers = dict.fromkeys(question.cases, answer)
            reply = Reply(answers, time.monotonic() - started, measured=False, learned={"sides": {}})
            self.learn(question, reply)
            return reply
        reply = self._reply(question, ran, started, f"at {self._bad}")
        answers = dict(reply.answers)
        for case, line in ran.lines.items():
            if same := line.get("same_as"):
                answers[case] = dataclasses.replace(self._answer_at(same, case, question.base), same_as=same)
        sides = {case: line["side"] for case, line in ran.lines.items() if line.get("side")}
        bases = {case: side for case, side in ran.bases.items() if (case, question.base) not in self._sides}
        reply = reply._replace(answers=answers, learned={**reply.learned, "sides": sides, "bases": bases})
        self.learn(question, reply)
        return reply

    def learn(self, question: Question, reply: Reply) -> None:
        """Keep what follows from a reply, and what each case was built from."""
        super().learn(question, reply)
        for point, sides in ((question.head, "sides"), (question.base, "bases")):
            self._sides |= {(case, point): side for case, side in reply.learned.get(sides, {}).items()}
        for case, answer in reply.answers.items():
            if answer.found in ("worse", "fine"):
                self._answered[case, question.base, question.head] = answer

    def _answer_at(self, point: str, case: str, base: str) -> Answer:
        """Return the answer about a case at a point where it was built before."""
        unchanged = Answer(found="fine", ratio=Estimate.exactly(1.0), reason=SAME)
        return unchanged if point == base else self._answered[case, base, point]

    def _known(self, question: Question) -> list[dict[str, Any]]:
        """Return what cases are built from at points whose answers are known: the base, and what was answered."""
        return [
            {"case": case, "point": point, "side": side}
            for (case, point), side in self._sides.items()
            if (question.cases is None or case in question.cases)
            and (point == question.base or (case, question.base, point) in self._answered)
        ]

    def _ran(self, question: Question) -> Ran:
        files = self._files(f"-{question.head[:SHORT]}")
        with self._worktree(question.head) as tree:
            request = self._request_in(tree, question, files)
            return run(sys.executable, request, tree.cwd, files.summary, files.log, environment(tree))

    def _request_in(self, tree: Worktree, question: Question, files: Files) -> Request:
        """Return what a child in a worktree is asked: not to measure what is built as at a commit that was answered.

        What is accused was built when it was found. It is measured whatever it is built from, which builds it.
        """
        arguments = [moved_argument(each, tree.to_base) for each in self._asked.arguments]
        # What the bad revision's ini file names holds for commits before it was written there, too.
        untracked = (f"--ngraph-untracked={pattern}" for pattern in self._untracked)
        arguments = [*(each for each in untracked if each not in arguments), *arguments]
        against = f"--ngraph-against={question.base}"
        request = self._request(question, files, against, path=tree.path(search_path()), arguments=arguments)
        builds = question.purpose != "accuse"
        known = self._known(question) if builds else []
        places = (str(tree.root), str(self._bad.root))
        renamed = tree.renamed(self._bad.sha)
        return dataclasses.replace(request, builds=builds, known=known, instead_of=places, renamed=renamed)

    def _worktree(self, sha: str) -> Worktree:
        return Worktree(dataclasses.replace(self._bad, name=sha, sha=sha), Path(tempfile.gettempdir()))
