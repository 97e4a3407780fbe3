"""Options of a compiler: from text to the types that its class declares."""

from __future__ import annotations

import dataclasses
import re
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pytest_ngraph.case import CompilerSpec
from pytest_ngraph.errors import UsageError

WHOLE_NUMBER = re.compile(r"[+-]?\d+", re.ASCII)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def parse(spec: CompilerSpec, kind: type) -> dict[str, Any]:
    """Return the values of the options in `spec`, by name, typed as the fields of the class `kind`.

    Raises:
        UsageError: an option is unknown or given twice, its value is not allowed, or the types cannot be read.
    """
    keys = [key for key, _ in spec.options]
    if len(set(keys)) < len(keys):
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise UsageError(f"compiler {spec}: {', '.join(twice)} is given twice. Give each option once.")
    known = [each.name for each in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    for key in keys:
        if key not in known:
            hint = "" if known else f"{spec.name} has none."
            raise UsageError.unknown(f"option of compiler {spec.name}", key, known, hint)
    types = _types(spec.name, kind) if spec.options else {}
    return {key: _parse_value(spec.name, key, value, types[key]) for key, value in spec.options}


def _types(compiler: str, kind: type) -> dict[str, Any]:
    try:
        return get_type_hints(kind)
    except NameError as error:
        raise UsageError(
            f"the types of compiler {compiler}'s options cannot be read: {error}. Import the types that its "
            "annotations use at module level, not under TYPE_CHECKING."
        ) from error


def _parse_value(compiler: str, key: str, value: str, kind: Any) -> Any:
    """Return the value as its annotation types it.

    It stays a text unless the annotation is a literal, Boolean or number, or `| None` of one.
    """
    if get_origin(kind) in (Union, UnionType):  # int | None: what can be given in text is an int
        kinds = [each for each in get_args(kind) if each is not NoneType]
        kind = kinds[0] if len(kinds) == 1 else str
    if get_origin(kind) is Literal:
        choices = {str(choice): choice for choice in get_args(kind)}
        if value in choices:
            return choices[value]
        allowed = ", ".join(choices)
    elif kind is bool:
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        allowed = "true, false"
    elif kind is int:
        if WHOLE_NUMBER.fullmatch(value):
            return int(value)
        allowed = "a whole number"
    elif kind is float:
        if NUMBER.fullmatch(value):
            return float(value)
        allowed = "a number"
    else:
        return value
    raise UsageError(f"{compiler}:{key}={value}: {value!r} is not allowed. Allowed: {allowed}.")
