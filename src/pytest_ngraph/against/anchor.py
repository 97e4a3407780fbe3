"""A run beside an anchor, for a history: a base that stays the same for months, and that fails nothing."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.against.from_revision import FromRevision
from pytest_ngraph.against.live import LiveBase
from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.errors import UsageError
from pytest_ngraph.gate.decision import weigh
from pytest_ngraph.gate.rule import is_spent
from pytest_ngraph.history.summary import TAIL
from pytest_ngraph.store.run import ANCHOR, ANCHOR_COMMIT
from pytest_ngraph.system.git import answers

NO_ANCHOR = (
    "--ngraph-history has no anchor: the store has no earlier night, and the repository no tag. Name a revision to "
    "measure beside from now on: --ngraph-history=ANCHOR."
)


class Anchor(LiveBase):
    """The anchor of a history."""

    def __init__(self, origin: FromRevision, name: str, options: GateOptions) -> None:
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
        rule = self.rule.applied_to(comparison)
        evidence = weigh(comparison.launches, rule, comparison.placement)
        if evidence is None:
            return is_spent(comparison.launches, rule)
        pooled = evidence.everything
        return pooled.high(TAIL) - pooled.mean <= rule.limit or is_spent(comparison.launches, rule)


def chosen_before(last: str, folder: Path) -> str:
    """Return the anchor of the last night, or else the last tag before the current commit.

    Args:
        last: the anchor of the last night in the store; empty for none.
        folder: a folder of the repository.

    Raises:
        UsageError: there is neither.
    """
    found = last or answers(folder, "describe", "--tags", "--abbrev=0")
    if not found:
        raise UsageError(NO_ANCHOR)
    return found
