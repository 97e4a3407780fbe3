"""Check whether data read back have the types that their dataclass declares."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from functools import cache
from operator import attrgetter
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
    types_allowed = _plain(hint)
    if types_allowed:
        return _one_of(types_allowed)
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: True
    if origin in (Union, types.UnionType):
        return _any_of([_check(each) for each in arguments])
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in arguments
    if origin is dict:
        return _dict_of(*map(_check_each, arguments))
    if origin is list:
        return _sequence_of(list, _check_each(arguments[0]))
    if origin is tuple:
        return _tuple_of(arguments)
    if dataclasses.is_dataclass(hint) or hasattr(hint, "_fields"):
        return _fields_of(hint)
    raise TypeError(f"no check for {hint}")


def _plain(hint: Any) -> frozenset[type]:
    """Return the types of the values that a hint allows, if their types say all; else none."""
    if get_origin(hint) in (Union, types.UnionType):
        every = [_plain(each) for each in get_args(hint)]
        return frozenset().union(*every) if all(every) else frozenset()
    if hint is float:
        return frozenset((float, int))
    is_made_of_fields = dataclasses.is_dataclass(hint) or hasattr(hint, "_fields")
    is_plain = isinstance(hint, type) and hint is not Any and not is_made_of_fields
    return frozenset((hint,)) if is_plain and get_origin(hint) is None else frozenset()


def _one_of(allowed: frozenset[type]) -> Check:
    return lambda value: type(value) in allowed


def _check_each(hint: Any) -> Check:
    """Return the check for all items of a container at once: their types are collected without a call for each."""
    allowed = _plain(hint)
    if allowed:
        return lambda items: allowed.issuperset(map(type, items))
    check = _check(hint)
    if not hasattr(hint, "_fields"):
        return lambda items: all(map(check, items))
    fields = [_check_each(each) for each in get_type_hints(hint).values()]
    kind = {hint}
    return lambda items: (
        kind.issuperset(map(type, items))
        and all(of_field(column) for of_field, column in zip(fields, zip(*items, strict=True), strict=False))
    )


def _any_of(checks: list[Check]) -> Check:
    return lambda value: any(check(value) for check in checks)


def _dict_of(keys: Check, values: Check) -> Check:
    return lambda value: isinstance(value, dict) and keys(value) and values(value.values())


def _sequence_of(kind: type[list[Any]] | type[tuple[Any, ...]], items: Check) -> Check:
    return lambda value: isinstance(value, kind) and items(value)


def _tuple_of(hints: tuple[Any, ...]) -> Check:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return _sequence_of(tuple, _check_each(hints[0]))
    checks = [_check(hint) for hint in hints]
    return lambda value: (
        isinstance(value, tuple)
        and len(value) == len(checks)
        and all(check(item) for check, item in zip(checks, value, strict=True))
    )


def _fields_of(kind: Any) -> Check:
    @cache
    def checks() -> tuple[Callable[[Any], tuple[Any, ...]], list[Check]]:
        # built for the first value: a class may have a field of its own type
        hints = get_type_hints(kind)
        read = attrgetter(*hints) if len(hints) > 1 else lambda value: tuple(getattr(value, name) for name in hints)
        return read, [_check(hint) for hint in hints.values()]

    def check(value: Any) -> bool:
        if not isinstance(value, kind):
            return False
        read, of_fields = checks()
        for of_field, found in zip(of_fields, read(value), strict=True):  # noqa: SIM110 -- faster, and millions pass
            if not of_field(found):
                return False
        return True

    return check
