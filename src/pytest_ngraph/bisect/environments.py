"""The environments between a good and a bad one, and answers about them."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_ngraph.against.revision.collecting import environment
from pytest_ngraph.bisect.answer import Answer
from pytest_ngraph.bisect.child import run
from pytest_ngraph.bisect.gate import ChildGate
from pytest_ngraph.bisect.graph import Graph, Point
from pytest_ngraph.bisect.installing import CannotInstall, build
from pytest_ngraph.bisect.interpreter import Interpreter, described
from pytest_ngraph.bisect.libraries import Change, after, changes, conflict
from pytest_ngraph.bisect.options import Asked
from pytest_ngraph.bisect.question import Question, Reply
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.installed import OWN
from pytest_ngraph.wording import counted

GOOD = "the good environment"
BAD = "the bad environment"
PREFIX = "ngraph-environment-"


class Environments:
    """The good environment, copies of it in which one change after another is made, and the bad environment.

    A copy with all changes need not be like the bad environment, which may have another interpreter or other native
    libraries. So the bad environment is a point of its own, after the last change; that change is accused only where
    the copy is worse. A point is named like the change that leads to it.
    """

    noun = "change"
    good = GOOD
    bad = BAD

    def __init__(self, asked: Asked) -> None:
        """Ask both interpreters. Raise `UsageError` if nothing differs, or what cannot be changed."""
        self.first = described(asked.good, "--python")
        self.last = described(asked.bad, "--against-python")
        if self.first.version != self.last.version:
            raise UsageError(
                f"{asked.good} is {self.first.version}, {asked.bad} is {self.last.version}: there is no environment in "
                "between. Compare environments of one Python version first."
            )
        self.fixed = {name for each in (self.first, self.last) for name, own in each.packages.items() if own.fixed}
        self.changes = changes(_without(self.first, self.fixed), _without(self.last, self.fixed))
        if not self.changes:
            raise UsageError(f"{asked.good} and {asked.bad} have the same packages: there is nothing to find.")
        self.graph = Graph.chain(GOOD, [*(change.text for change in self.changes), BAD])

    @property
    def ends(self) -> Mapping[str, str]:
        """Nothing: interpreters stay where they are."""
        return {}

    @property
    def announcement(self) -> str:
        """What differs."""
        return "\n".join([f"{counted(len(self.changes), 'change')}:", *(f"  {each.text}" for each in self.changes)])

    def made(self, point: Point) -> list[Change]:
        """Return the changes that lead to the good environment or to a copy of it."""
        count = 0 if point == GOOD else [change.text for change in self.changes].index(point) + 1
        return self.changes[:count]

    def gate(self, asked: Asked, folder: Path) -> EnvironmentGate:
        """Return the gate that answers about these environments."""
        return EnvironmentGate(asked, self, folder)

    def name(self, point: Point) -> str:
        """Return a point as users know it."""
        if point != BAD:
            return point
        one, other = self.first.patch, self.last.patch
        interpreter = "the interpreter" if one == other else f"Python {one} -> {other}"
        folders = [f"{name} installed from a folder" for name in sorted(self.fixed - {OWN})]
        others = ", ".join([interpreter, "native libraries", "files changed in place", *folders])
        return f"{BAD} itself (what is not a package that can be changed: {others})"

    def described(self, point: Point) -> dict[str, Any]:
        """Return a point as JSON-ready data."""
        changed = [] if point == BAD else self.made(point)[-1:]
        return {"packages": [name for change in changed for name in change.names]}

    def clean(self) -> None:
        """Do nothing: what a killed run has left behind lies among the temporary files."""


class EnvironmentGate(ChildGate):
    """Builds an environment, and measures the cases there beside another.

    Args:
        folder: for the records, results and output of the runs.
    """

    def __init__(self, asked: Asked, environments: Environments, folder: Path) -> None:
        super().__init__(asked, folder)
        self._environments = environments

    def ask(self, question: Question) -> Reply:
        """Answer a question. Raise `UsageError` if the bad environment has no tests to measure."""
        started = time.monotonic()
        places: list[Path] = []
        try:
            head, base = (self._python(point, places) for point in (question.head, question.base))
            reply = self._measured(question, head, base, started)
        except CannotInstall as error:
            if question.cases is None:
                raise
            answer = Answer(found="untestable", reason=str(error))
            reply = Reply(dict.fromkeys(question.cases, answer), time.monotonic() - started, measured=False)
        finally:
            for place in places:
                shutil.rmtree(place, ignore_errors=True)
        self.learn(question, reply)
        return reply

    def _measured(self, question: Question, head: str, base: str, started: float) -> Reply:
        files = self._files()
        against = f"--ngraph-against-python={base}"
        request = self._request(question, files, against, path=None, arguments=self._asked.arguments)
        ran = run(head, request, Path.cwd(), files.summary, files.log, environment())
        return self._reply(question, ran, started, f"in {self._asked.bad}")

    def _python(self, point: Point, places: list[Path]) -> str:
        """Return the interpreter of a point. An environment that is built for it is added to `places`."""
        between = self._environments
        if point in (GOOD, BAD):
            return (between.first if point == GOOD else between.last).python
        made = between.made(point)
        good, bad = between.first, between.last
        if problem := conflict(after(made, good.packages), good.packages, bad.packages):
            raise CannotInstall(problem)
        place = Path(tempfile.mkdtemp(prefix=PREFIX))
        places.append(place)
        return build(place, good, made, self._asked.find_links)


def _without(interpreter: Interpreter, fixed: set[str]) -> dict[str, Any]:
    return {name: package for name, package in interpreter.packages.items() if name not in fixed}
