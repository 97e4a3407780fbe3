"""A head and its base, as they are compared: what either is compiled from."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.beside_base.base_sides import BaseSide
from pytest_ngraph.case import Case, CompilerSpec
from pytest_ngraph.comparison import HEAD, Comparison
from pytest_ngraph.compilers import runs_module


class Compiled(NamedTuple):
    """What one of the two is compiled from, and what for."""

    case: Case
    artifact: Artifact
    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A head and its base.

    Attributes:
        case: the head's case.
        artifact: what the head's compiler starts from.
        target: what the head is compiled for.
        base_side: the base.
        comparison: the comparison, still without launches.
    """

    case: Case
    artifact: Artifact
    target: Target
    base_side: BaseSide
    comparison: Comparison

    def compiled(self, which: str) -> Compiled:
        """Return what the head or the base is compiled from, each for its own precision and objective.

        In one process, that is the exported program also where its compiler would run the module: one process cannot
        hold the modules of two revisions.
        """
        of = self if which == HEAD else self.base_side
        case, target = of.case, self.target.for_case(of.case)
        if self.comparison.placement == "together" and runs_module(case.compiler, of.artifact):
            compiler = CompilerSpec.parse(case.compiler).with_option("graph", "program")
            case = dataclasses.replace(case, compiler=str(compiler))
        return Compiled(case, of.artifact, target)
