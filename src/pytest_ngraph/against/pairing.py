"""Pair each case of the head with the case of the base that it is compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_ngraph.case import Case, CompilerSpec

Trait = Callable[[Case], Hashable]

VARIABLE: dict[str, Trait] = {
    "compiler's options": lambda case: CompilerSpec.parse(case.compiler).options,
    "model_args": lambda case: case.model_args,
    "inputs": lambda case: (case.shapes, case.inputs),
    "precision": lambda case: case.precision,
    "objective": lambda case: case.objective,
    "device": lambda case: case.device,
}
"""The traits of a case that a change of options or marks may change, while to its user it stays the same case."""


@dataclass(frozen=True, slots=True)
class BaseCase:
    """A case of the base.

    Attributes:
        selected: whether the run's own selection (`-k`, `-m`, node ids) includes it.
    """

    nodeid: str
    case: Case
    selected: bool = True


@dataclass(frozen=True, slots=True)
class Collection:
    """What collecting the base's tests found.

    Attributes:
        failed: the reason for each file, folder or test that could not be collected, by its node id; the empty node id
            stands for all tests.
        path: where the tests import from, with what they, their place and the ini file add; empty where that is not
            known.
    """

    cases: tuple[BaseCase, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    path: Sequence[str] = field(default=(), compare=False)

    @property
    def problem(self) -> str:
        """What failed, in one line; empty when nothing did."""
        if not self.failed:
            return ""
        listing = "; ".join(f"{nodeid}: {reason}" if nodeid else reason for nodeid, reason in self.failed.items())
        return f"not all tests could be collected at the base, so the head's cases are built there instead: {listing}"

    def knows(self, nodeid: str) -> bool:
        """Return whether the base's cases for this test could be collected (there may be none)."""
        return not any(_contains(failed, nodeid) for failed in self.failed)


@dataclass(frozen=True, slots=True)
class Pairing:
    """The cases of head and base, paired.

    Attributes:
        bases: for each case of the head that has one, the base's case to compare it with.
        new: cases that only the head has.
        missing: selected cases that only the base has, with their node ids.
    """

    bases: dict[Case, Case]
    new: frozenset[Case]
    missing: dict[Case, str]


def pair(
    head: Sequence[tuple[str, Case]],
    base: Collection,
    generated: Sequence[tuple[str, Case]] = (),
    is_gone: Callable[[str], bool] = lambda workload: False,
) -> Pairing:
    """Pair the head's cases, given with their node ids, with the base's.

    Equal cases are pairs, whichever test they belong to, because it may have been renamed. The remaining cases of the
    same test function are pairs if they differ in one variable trait, or else in several, and there is no other choice;
    at last, if only the module of their workload differs, and the base's does not define it any more: it was moved.
    Where the base's tests could not be collected, the base is assumed to have the head's cases.

    Args:
        generated: all cases of the head's tests. Those that were not selected are paired, too, and then left out, so
            that what a case is compared with does not depend on which others were selected.
        is_gone: whether the head does not define a workload of the base where the base has it.
    """
    selected = frozenset(case for _, case in head)
    heads = {case: nodeid for nodeid, case in reversed([*generated, *head])}
    bases = {each.case: each for each in reversed(base.cases)}
    pairs = {case: case for case, nodeid in heads.items() if case in bases or not base.knows(nodeid)}
    left = {case: function_of(nodeid) for case, nodeid in heads.items() if case not in pairs}
    unused = {case: function_of(each.nodeid) for case, each in bases.items() if case not in pairs}
    for changed in (*([name] for name in VARIABLE), list(VARIABLE)):
        found = _only_choices(left, unused, [trait for name, trait in VARIABLE.items() if name not in changed])
        pairs |= found
        left, unused = _without(left, found), _without(unused, set(found.values()))
    moved = {case: function for case, function in unused.items() if is_gone(case.workload)}
    found = _only_choices(left, moved, VARIABLE.values(), lambda case: _fixed(case, case.workload.partition(":")[2]))
    pairs |= found
    left, unused = _without(left, found), _without(unused, set(found.values()))
    missing = {case: bases[case].nodeid for case in unused if bases[case].selected}
    of_selected = {case: theirs for case, theirs in pairs.items() if case in selected}
    return Pairing(of_selected, selected.intersection(left), missing)


def _without(functions: Mapping[Case, str], taken: Container[Case]) -> dict[Case, str]:
    return {case: function for case, function in functions.items() if case not in taken}


def _only_choices(
    heads: Mapping[Case, str],
    bases: Mapping[Case, str],
    same: Iterable[Trait],
    fixed: Trait = lambda case: _fixed(case, case.workload),
) -> dict[Case, Case]:
    """Return pairs that agree in their function, their fixed traits and the traits `same`, and are alone in that."""
    traits = list(same)

    def grouped(cases: Mapping[Case, str]) -> dict[Hashable, list[Case]]:
        groups: dict[Hashable, list[Case]] = defaultdict(list)
        for case, function in cases.items():
            groups[function, fixed(case), tuple(trait(case) for trait in traits)].append(case)
        return groups

    candidates = grouped(bases)
    return {
        head: candidates[key][0]
        for key, (head, *others) in grouped(heads).items()
        if not others and len(candidates.get(key, ())) == 1
    }


def _fixed(case: Case, workload: str) -> Hashable:
    """Return the traits that no change of options can change: where one differs, it is another case."""
    return workload, case.compiler_name, case.batch_size, case.depth, case.width, case.sizes


def function_of(nodeid: str) -> str:
    """Return the node id of the test function, without parameters."""
    path, colons, name = nodeid.partition("::")
    return f"{path}{colons}{name.partition('[')[0]}"


def _contains(outer: str, nodeid: str) -> bool:
    return not outer or nodeid == outer or nodeid.startswith((f"{outer}::", f"{outer}/", f"{outer}["))
