"""A run beside an anchor, for a history: a base that stays the same for months, and that fails nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_ngraph.against.from_revision import FromRevision
from pytest_ngraph.against.interpreter import FromInterpreter
from pytest_ngraph.against.live import LiveBase
from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.against.origin import Found, Origin
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.errors import UsageError
from pytest_ngraph.gate.decision import drawn, lacks_searches, weigh
from pytest_ngraph.gate.rule import is_spent
from pytest_ngraph.history.facts import digest
from pytest_ngraph.history.row import Row
from pytest_ngraph.metrics.between import TAIL
from pytest_ngraph.store.run import ANCHOR, ANCHOR_COMMIT
from pytest_ngraph.system.git import answers
from pytest_ngraph.system.relocation import STANDARD_LIBRARY, marked

NO_ANCHOR = (
    "--ngraph-history has no anchor: the store has no earlier night, and the repository no tag. Name a revision to "
    "measure beside from now on: --ngraph-history=ANCHOR."
)


class WithLibraries(Origin):
    """A revision in an environment of its own, as it was when its libraries were new."""

    has_own_libraries = True

    def __init__(self, revision: FromRevision, environment: FromInterpreter) -> None:
        self._revision = revision
        self._environment = environment

    @property
    def name(self) -> str:
        return f"{self._revision.name} under {self._environment.name}"

    @property
    def identity(self) -> str:
        return f"{self._revision.identity} {self._environment.identity}"

    @property
    def commit(self) -> str:
        """The commit and a digest of the libraries: with other libraries it is another anchor."""
        return f"{self._revision.commit} {digest({'libraries': self._environment.identity})}"

    @property
    def description(self) -> str:
        return f"{self._revision.description}; {self._environment.description}"

    def open(self, heads: Sequence[tuple[str, Case]]) -> Found:
        """Find the revision's cases. Its modules come before those of the environment, whose libraries they use."""
        found = self._revision.open(heads)
        environment = self._environment.open(heads)
        assert found.instead_of is not None
        tree, _ = found.instead_of
        path = marked(found.home.path or ())
        own = [entry for entry in path if entry == STANDARD_LIBRARY or Path(entry).is_relative_to(tree)]
        home = replace(found.home, python=environment.home.python, path=own)
        return replace(found, home=home, measures_equals=True)

    def close(self) -> None:
        self._revision.close()
        self._environment.close()


class Anchor(LiveBase):
    """The anchor of a history."""

    def __init__(self, origin: FromRevision | WithLibraries, name: str, options: GateOptions) -> None:
        """Start without comparisons; `name` is the anchor as the user gave it."""
        super().__init__(origin, options)
        self._source = {ANCHOR: name, ANCHOR_COMMIT: origin.commit}

    @property
    def source(self) -> dict[str, str]:
        """The anchor and its commit."""
        return self._source

    def is_decided(self, comparison: Comparison) -> bool:
        """Return whether the ratio is known to within the margin, or no further launch may be taken.

        How long a case is measured must not depend on how its ratio turns out, or the ratio would be biased.
        """
        if lacks_searches(comparison):
            return False
        rule = self.rule.applied_to(comparison)
        evidence = weigh(drawn(comparison), rule, comparison.placement)
        if evidence is None:
            return is_spent(comparison.launches, rule)
        pooled = evidence.everything
        return pooled.high(TAIL) - pooled.mean <= rule.limit or is_spent(comparison.launches, rule)


def chosen_before(last: Row | None, folder: Path) -> str:
    """Return the anchor of the last night, or else the last tag before the current commit.

    An anchor stays what it was: where its name means another commit today, as `HEAD~30` does, the commit is named.

    Args:
        last: a record of the last night in the store; None for none.
        folder: a folder of the repository.

    Raises:
        UsageError: there is neither.
    """
    if last is not None:
        commit = last.anchor_commit.partition(" ")[0]  # what follows are its own libraries
        means = answers(folder, "rev-parse", "--verify", "--quiet", f"{last.anchor}^{{commit}}")
        return last.anchor if means == commit or not commit else commit
    found = answers(folder, "describe", "--tags", "--abbrev=0")
    if not found:
        raise UsageError(NO_ANCHOR)
    return found
