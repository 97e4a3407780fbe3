"""Check whether data read back have the types that their dataclass declares."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Check = Callable[[Any], bool]


def conforms(value: object, hint: Any) -> bool:
    """Return whether a value has a declared type: dataclasses and named tuples by field, containers by item.

    An int passes as a float; a bool passes only as a bool.
    """
    return _check(hint)(value)


@cache
def _check(hint: Any) -> Check:
    """Return the check for a type. It is built once, because a store has millions of values of few types."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: True
    if origin in (Union, types.UnionType):
        return _any_of([_check(each) for each in arguments])
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in arguments
    if origin is dict:
        return _dict_of(*map(_check, arguments))
    if origin is list:
        return _sequence_of(list, _check(arguments[0]))
    if origin is tuple:
        return _tuple_of(arguments)
    if dataclasses.is_dataclass(hint) or hasattr(hint, "_fields"):
        return _fields_of(hint)
    if hint is float:
        return lambda value: type(value) in (float, int)
    return lambda value: type(value) is hint


def _any_of(checks: list[Check]) -> Check:
    return lambda value: any(check(value) for check in checks)


def _dict_of(key: Check, item: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(key(k) and item(v) for k, v in value.items())


def _sequence_of(kind: type[list[Any]] | type[tuple[Any, ...]], item: Check) -> Check:
    return lambda value: isinstance(value, kind) and all(map(item, value))


def _tuple_of(hints: tuple[Any, ...]) -> Check:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return _sequence_of(tuple, _check(hints[0]))
    checks = [_check(hint) for hint in hints]
    return lambda value: (
        isinstance(value, tuple)
        and len(value) == len(checks)
        and all(check(item) for check, item in zip(checks, value, strict=True))
    )


def _fields_of(kind: Any) -> Check:
    @cache
    def checks() -> list[tuple[str, Check]]:  # built for the first value: a class may have a field of its own type
        return [(name, _check(hint)) for name, hint in get_type_hints(kind).items()]

    return lambda value: isinstance(value, kind) and all(check(getattr(value, name)) for name, check in checks())
