"""The format of a store, and the number by which a reader knows whether it understands all of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pytest_ngraph.record import Record
from pytest_ngraph.store import SCHEMA

DECLARED = Path(__file__).parents[1] / "data" / f"schema_{SCHEMA}.txt"


def test_a_record_changes_only_with_the_schema() -> None:
    """A reader drops lines with unknown fields. A newer schema makes it refuse the run instead.

    So after a release, raise `SCHEMA` and write what this test prints into a file for it.
    """
    declared = "\n".join(dict.fromkeys(fields(Record))) + "\n"
    print(declared)
    assert declared == DECLARED.read_text()


def fields(kind: Any) -> Iterator[str]:
    """Yield `Record.rounds: tuple[Round, ...]` and so on, through all types in a record."""
    hints = get_type_hints(kind)
    for name, hint in hints.items():
        declared = kind.__annotations__[name]
        text = declared if isinstance(declared, str) else declared.__forward_arg__  # of a named tuple
        yield f"{kind.__name__}.{name}: {text}"
        if get_origin(hint) is Literal:
            yield f"{text}: {', '.join(get_args(hint))}"
    for hint in hints.values():
        yield from (each for part in parts(hint) if part is not kind for each in fields(part))


def parts(hint: Any) -> Iterator[Any]:
    """Yield the dataclasses and named tuples in a type."""
    if dataclasses.is_dataclass(hint) or hasattr(hint, "_fields"):
        yield hint
    for argument in get_args(hint):
        yield from parts(argument)
