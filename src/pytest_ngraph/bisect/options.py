"""What a bisection was asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ngraph.bisect.question import Question
from pytest_ngraph.errors import UsageError
from pytest_ngraph.report.since import CLASHING

OF_OTHER_RUNS = (
    "advise=false", "against=", "against_python=", "calibrate=false", "compare=", "dry_run=false", "fail_on=",
    "history=", "max_seconds=", "report=", "resume=", "save=", "scheduler=", "serving=false", "tails=",
    "two_sided=false",
)  # fmt: skip
"""What a project's ini file may set for its other runs, and that would refuse or change the steps of a bisection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a bisection was asked for.

    Attributes:
        good: the good revision, or the interpreter of the good environment.
        bad: likewise, of the bad one.
        arguments: of pytest.
        only: cases, each by its id or a part of it; empty for all.
        libraries: whether environments are bisected, and not commits.
        find_links: folders and pages in which packages are looked for, instead of the index.
    """

    good: str
    bad: str
    arguments: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    improved: bool = False
    first_parent: bool = False
    level: float = 0.01
    margin: float = 0.01
    libraries: bool = False
    find_links: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for argument in self.arguments:
            if argument.partition("=")[0] in CLASHING:
                raise UsageError(
                    f"{argument}: a bisection sets this itself, or does without. Leave it out; --level and --margin "
                    "are options of pytest-ngraph bisect."
                )

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def between(self, ends: Mapping[str, str]) -> Asked:
        """Return the same between these ends."""
        return dataclasses.replace(self, good=ends.get("good", self.good), bad=ends.get("bad", self.bad))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Asked:
        """Return what was asked from the data of `to_dict`."""
        tuples = {name: tuple(data[name]) for name in ("arguments", "only", "find_links")}
        return cls(**{**data, **tuples})

    def of_pytest(self, question: Question, against: str, store: str, summary: str) -> list[str]:
        """Return the options of the pytest that answers a question.

        Args:
            against: the option that names the base.
            store: folder for its records.
            summary: file for its result.
        """
        shows = ("all" if self.improved else "regressed") if question.purpose == "accuse" else "none"
        return [
            against,
            f"--ngraph-level={question.level:.12f}",
            f"--ngraph-margin={self.margin:.12f}",
            *([f"--ngraph-launches={question.launches}"] if question.launches else []),
            *(["--ngraph-two-sided"] if self.improved else []),
            f"--ngraph-explain={shows}",
            "--ngraph-inconclusive=pass",
            "--ngraph-broken-base=warn",
            f"--ngraph-store={store}",
            f"--ngraph-summary={summary}",
            "--maxfail=0",
            "--continue-on-collection-errors",
            *(f"--override-ini=ngraph_{each}" for each in OF_OTHER_RUNS),
        ]
