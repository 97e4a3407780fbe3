"""Compare what was compiled: the operations of two programs, matched within the modules that they belong to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from pytest_ngraph.artifact import Node


class Change(NamedTuple):
    """An operation that both programs have, with what differs: `shape (1, 64, 56, 56) became (1, 80, 56, 56)`."""

    base: Node
    head: Node
    what: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDifference:
    """What differs between two programs, in the order of the programs.

    Attributes:
        added: operations that only the head has.
        removed: operations that only the base has.
        changed: operations that both have, with other types, shapes or attributes.
        matched: name in the head of each operation that both have, by its name in the base.
        moved: path in the head of each module whose path changed, by its path in the base.
    """

    added: tuple[Node, ...]
    removed: tuple[Node, ...]
    changed: tuple[Change, ...]
    matched: dict[str, str] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.removed or self.changed)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data: the name, operator and module of each operation, and what changed of it."""
        changed = [_named(change.head) | {"what": list(change.what)} for change in self.changed]
        operations = {"added": [*map(_named, self.added)], "removed": [*map(_named, self.removed)], "changed": changed}
        return operations | {"moved": dict(self.moved)}


def _named(node: Node) -> dict[str, Any]:
    return {"name": node.name, "operator": node.operator, "module": node.module}


def compare(base: Sequence[Node], head: Sequence[Node], moved: Mapping[str, str] | None = None) -> GraphDifference:
    """Return what differs. Operations are matched by their order among those of the same module.

    Args:
        base: with the paths that its modules have in the head.
        head: the other program.
        moved: which of these were others in the base.
    """
    in_base, in_head = _by_module(base), _by_module(head)
    pairs = [pair for module, nodes in in_base.items() for pair in _pairs(nodes, in_head.get(module, []))]
    matched = {one.name: other.name for one, other in pairs}
    both = set(matched.values())
    changes = (Change(one, other, tuple(_changes(one, other))) for one, other in pairs)
    return GraphDifference(
        added=tuple(node for node in head if node.name not in both),
        removed=tuple(node for node in base if node.name not in matched),
        changed=tuple(change for change in changes if change.what),
        matched=matched,
        moved=moved or {},
    )


def _by_module(nodes: Sequence[Node]) -> dict[str, list[Node]]:
    found: defaultdict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        found[node.module].append(node)
    return dict(found)


def _pairs(base: list[Node], head: list[Node]) -> Iterator[tuple[Node, Node]]:
    in_base, in_head = ([node.operator for node in nodes] for nodes in (base, head))
    for block in SequenceMatcher(None, in_base, in_head, autojunk=False).get_matching_blocks():
        yield from zip(base[block.a : block.a + block.size], head[block.b : block.b + block.size], strict=True)


def _changes(base: Node, head: Node) -> Iterator[str]:
    for name in ("type", "shape", "attributes"):
        before, after = getattr(base, name), getattr(head, name)
        if before != after:
            yield f"{name} {before or 'none'} became {after or 'none'}"
