"""The base of a run: what its cases are compared with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.bench.beside_base.differing import Side
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison, Placement
from pytest_ngraph.record import FailureKind
from pytest_ngraph.settings import Explained


class Decides(Protocol):
    """Decides comparisons as launches come in."""

    def is_decided(self, comparison: Comparison) -> bool:
        """Return whether the measurements suffice for a verdict; more launches are made until they do."""
        ...

    def is_regressed(self, comparison: Comparison) -> bool:
        """Return whether a decided comparison shows a regression."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What the cases of a run are compared with.

    Attributes:
        name: as shown to users (`main at 1a2b3c4`).
        identity: what distinguishes it from every other base.
        home: where its workloads are built, and also where they run if its interpreter is another one.
        instead_of: the base's copy of a repository, and the repository itself; None if both use the same code. A module
            imported from the repository instead of the copy would compare the head with itself.
        own_path: where the repository has the project's packages. An installed copy that is not as there is refused.
        case_of: the base's case for one of the head's; None if the base has none.
        at_base: a case with the paths of the base's copy in place of the head's.
        decides: says when a comparison has been measured enough, and whether it shows a regression.
        measures_equals: whether a case is compared even if graph, weights and inputs are those of its base.
        measures_unchanged: whether a case that is not compared, because it equals its base's, is measured by itself.
        explain: which cases are profiled beside their base, to explain where they differ.
        exported: what groups of the head were exported to before this run. Each is used once, and its folder removed.
        on_built: is called with a case of the head, and the base's side of it with the head's paths, once it is built.
    """

    name: str
    identity: str
    home: Home
    instead_of: tuple[Path, Path] | None
    case_of: Callable[[Case], Case | None]
    at_base: Callable[[Case], Case]
    decides: Decides
    own_path: Sequence[Path] = ()
    measures_equals: bool = False
    measures_unchanged: Callable[[Case], bool] = lambda case: True
    explain: Explained = "none"
    exported: Mapping[Case, Artifact] = field(default_factory=dict)
    on_built: Callable[[Case, Side], object] | None = None

    def explains(self, comparison: Comparison) -> bool:
        """Return whether head and base of a decided comparison are profiled."""
        if self.explain == "none" or comparison.problem or not comparison.launches:
            return False
        return self.explain == "all" or self.decides.is_regressed(comparison)

    @property
    def placement(self) -> Placement:
        """Apart if the base needs another interpreter, and so another process."""
        return "together" if self.home.python == sys.executable else "apart"


class BaseFails(Exception):
    """The base does not run, so nothing can be compared with it; the text says why.

    Attributes:
        kind: how it failed; empty where it only cannot be run here.
    """

    def __init__(self, reason: str, *, kind: FailureKind | Literal[""]) -> None:
        super().__init__(reason)
        self.kind = kind
