"""Which module of the head is which of the base, where a change has renamed, moved, inserted or removed some.

A module is known by its path, so that an unchanged one with another path looks like two: one that is gone, and one that
is new. Modules are therefore matched by what they do, in the order in which they run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pytest_ngraph.artifact import Node
from pytest_ngraph.explain.places import is_within, parts
from pytest_ngraph.explain.profile import Profile
from pytest_ngraph.stats import Floats

SAME = 1.0
"""Weight of a match of two modules whose operations have equal types, shapes and attributes."""
CHANGED, REPLACED = 0.9, 0.3
"""Weights of two modules with one path: where they have the same operators, and where they have none in common."""
LIKE = 0.5
"""Weight of two modules with other paths and other shapes, but the same operators."""
LEAST_ALIKE = 0.5
"""The share of their operators that such modules have in common at least."""
NEAR = 0.1
"""What equal names and equal parents add to all matches together: so little that they only decide between equal
ones."""
MOST_PAIRS = 4_000_000
"""With more pairs, modules are matched by their paths alone: anything else would take seconds, and much memory."""
REMOVED = " (removed)"
"""Follows the name of a module of the base whose path is another module's in the head."""


class Module(NamedTuple):
    """A module with its own operations, without those of its parts."""

    path: str
    work: tuple[Any, ...]
    operators: tuple[str, ...]


class Moves:
    """The paths that modules of the base have in the head.

    Args:
        pairs: path in the head of each module that both have, by its path in the base.
    """

    def __init__(self, pairs: Mapping[str, str]) -> None:
        self._pairs = pairs
        votes = [vote for pair in pairs.items() for vote in _upwards(*pair)]
        self._before = _most_voted((now, before) for before, now in votes) | {now: one for one, now in pairs.items()}
        mutual = {one: now for one, now in _most_voted(votes).items() if self._before[now] == one}
        self._now = mutual | dict(pairs)

    def path(self, before: str) -> str:
        """Return the head's path of a module of the base; for one that is gone, where it would be."""
        names = parts(before)
        known = next((depth for depth in range(len(names), -1, -1) if ".".join(names[:depth]) in self._now), 0)
        found = self._now.get(".".join(names[:known]), "")
        for depth in range(known, len(names)):
            found = f"{found}.{names[depth]}" if found else names[depth]
            own = ".".join(names[: depth + 1])
            found += "" if self._before.get(found, own) == own else REMOVED
        return found

    @property
    def moved(self) -> dict[str, str]:
        """The highest modules that have another path: `backbone` by `blocks`."""
        changed = [_upwards(*pair) for pair in self._pairs.items() if pair[0] != pair[1]]
        return dict(next((one, now) for one, now in each if _name(one) != _name(now)) for each in changed)


def with_heads_paths(base: Profile, head: Profile) -> tuple[Profile, dict[str, str]]:
    """Return the base's profile with the paths that its modules have in the head, and the modules that moved."""
    moves = matched(base.nodes, head.nodes)
    nodes = tuple(replace(node, module=moves.path(node.module)) for node in base.nodes)
    blocks = (
        replace(
            block, kernels=tuple(replace(each, modules=tuple(map(moves.path, each.modules))) for each in block.kernels)
        )
        for block in base.blocks
    )
    return replace(base, nodes=nodes, blocks=tuple(blocks)), moves.moved


def matched(base: Sequence[Node], head: Sequence[Node]) -> Moves:
    """Match the modules of two programs. Where both have the same paths, these say which is which.

    A layer that became a module of several layers keeps its path, and so does one that was such a module.
    """
    before, now = _modules(base), _modules(head)
    common = {each.path for each in before} & {each.path for each in now}
    if len(common) == len(before) == len(now):
        return Moves({path: path for path in common})
    pairs = dict(_aligned(before, now))
    taken = {*pairs.values()}
    pairs |= {path: path for path in common if path not in pairs and path not in taken}  # they run in another order
    in_order = ((path, pairs[path]) for path, *_ in before if path in pairs)
    return Moves({one: one if _is_nested(one, other) else other for one, other in in_order})


def _modules(nodes: Sequence[Node]) -> list[Module]:
    """Return the modules that have operations, in the order in which they begin."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        found.setdefault(node.module, []).append(node)
    return [
        Module(
            path,
            tuple((node.operator, node.type, node.shape, node.attributes) for node in own),
            tuple(sorted(node.operator for node in own)),
        )
        for path, own in found.items()
    ]


def _aligned(base: list[Module], head: list[Module]) -> Iterator[tuple[str, str]]:
    """Yield the paths of matched modules: of the matches that keep the order, those with the most weight together."""
    while base and head and base[0] == head[0]:
        yield base[0].path, head[0].path
        base, head = base[1:], head[1:]
    while base and head and base[-1] == head[-1]:
        yield base[-1].path, head[-1].path
        base, head = base[:-1], head[:-1]
    if not 0 < len(base) * len(head) <= MOST_PAIRS:
        return
    best = np.zeros((len(base) + 1, len(head) + 1))
    for row, weights in enumerate(_weights(base, head)):
        best[row + 1, 1:] = np.maximum.accumulate(np.maximum(best[row, 1:], best[row, :-1] + weights))
    row, column = len(base), len(head)
    while row and column:
        if best[row, column] == best[row, column - 1]:
            column -= 1
        elif best[row, column] == best[row - 1, column]:
            row -= 1
        else:
            row, column = row - 1, column - 1
            yield base[row].path, head[column].path


def _weights(base: Sequence[Module], head: Sequence[Module]) -> Iterator[Floats]:
    """Yield how well each module of the base matches those of the head; 0 where it does not."""
    works, paths, names, above = (
        _numbers(base, head, of)
        for of in (
            lambda each: each.work,
            lambda each: each.path,
            lambda each: _name(each.path),
            lambda each: _above(each.path),
        )
    )
    near_step = NEAR / (2 * min(len(base), len(head)))
    kinds = dict.fromkeys(each.operators for each in head)
    place = {operators: number for number, operators in enumerate(kinds)}
    of_head = np.array([place[each.operators] for each in head], dtype=np.intp)

    @cache
    def likeness(operators: tuple[str, ...]) -> Floats:
        return np.array([_likeness(Counter(operators), Counter(other)) for other in kinds])[of_head]

    for row, each in enumerate(base):
        like = likeness(each.operators)
        near = np.add(names[0][row] == names[1], above[0][row] == above[1], dtype=np.float64)
        found = np.where((like >= LEAST_ALIKE) & (near > 0), LIKE * like, 0.0)
        found = np.where(paths[0][row] == paths[1], REPLACED + (CHANGED - REPLACED) * like, found)
        found = np.where(works[0][row] == works[1], SAME, found)
        yield found + near_step * near * (found > 0)


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of their operators that two modules have in common."""
    return 2 * (one & other).total() / (one.total() + other.total())


def _numbers(
    base: Sequence[Module], head: Sequence[Module], of: Callable[[Module], Hashable]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return a number for what each module has, the same for what is equal."""
    known: dict[Hashable, int] = {}
    in_base, in_head = (
        np.array([known.setdefault(of(each), len(known)) for each in side], dtype=np.intp) for side in (base, head)
    )
    return in_base, in_head


def _most_voted(votes: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return what most votes name for each path."""
    found: dict[str, Counter[str]] = {}
    for path, named in votes:
        found.setdefault(path, Counter())[named] += 1
    return {path: counts.most_common(1)[0][0] for path, counts in found.items()}


def _upwards(one: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield two paths, then those of the modules above them, until one is the network itself."""
    yield one, other
    while one and other:
        one, other = _above(one), _above(other)
        yield one, other


def _is_nested(one: str, other: str) -> bool:
    return bool(one and other) and (is_within(one, other) or is_within(other, one))


def _above(path: str) -> str:
    return path.rpartition(".")[0]


def _name(path: str) -> str:
    return path.rpartition(".")[2]
