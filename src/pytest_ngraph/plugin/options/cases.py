"""Options that say which cases there are: devices, compilers, batch sizes and others, precisions, objectives."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypedDict

import pytest

from pytest_ngraph import compilers
from pytest_ngraph.case import OBJECTIVES, PRECISIONS, CompilerSpec
from pytest_ngraph.errors import UsageError
from pytest_ngraph.plugin.options.reading import Declare, axis
from pytest_ngraph.session.options import Axis

RESERVED = {
    "b": "batch_size", "batch": "batch_size", "batch_size": "batch_size", "d": "depth", "depth": "depth",
    "w": "width", "width": "width", "compiler": "compiler", "workload": "workload", "device": "device",
    "precision": "precision", "objective": "objective", "over": "another name",
}  # fmt: skip
"""Names that a size of one's own cannot have, because thresholds select by them, with what to give instead."""


class Axes(TypedDict):
    """The axes of the cases, under their names in `Options`."""

    devices: Axis[str]
    compilers: Axis[str]
    batch_sizes: Axis[int]
    precisions: Axis[str]
    objectives: Axis[str]
    sizes: Mapping[str, Axis[int]]


def declare(add: Declare) -> None:
    """Add the options and their ini keys."""
    many: dict[str, Any] = {"action": "append", "metavar": "NAME[,NAME...]"}
    add(
        "--device",
        "ngraph_device",
        "Device profiles to measure as: cpu (default), xeon, gpu, orin, or your own",
        **many,
    )
    add("--compiler", "ngraph_compiler", "Compilers, with options: openvino:streams=2. Default: all installed", **many)
    add("--batch-size", "ngraph_batch_size", "Batch sizes. Default: 1", **many)
    add(
        "--size",
        "ngraph_size",
        "Sizes of your own axes: seq_len=32,128. Repeatable. Default: none",
        action="append",
        metavar="AXIS=N[,N...]",
    )
    add("--precision", "ngraph_precision", f"Precisions: {', '.join(PRECISIONS)}. Default: fp32", **many)
    add("--objective", "ngraph_objective", f"Objectives: {', '.join(OBJECTIVES)}. Default: latency", **many)


def read(config: pytest.Config, inventory: Collection[str]) -> Axes:
    """Return the axes of this run. Raises `UsageError` for a value that does not exist or is not allowed."""
    return Axes(
        devices=axis(config, "device", lambda text: _one_of("device", text, inventory)),
        compilers=axis(config, "compiler", parse_compiler, split_compilers),
        batch_sizes=axis(config, "batch_size", parse_batch_size),
        precisions=axis(config, "precision", lambda text: _one_of("precision", text, PRECISIONS)),
        objectives=axis(config, "objective", lambda text: _one_of("objective", text, OBJECTIVES)),
        sizes=_sizes(config),
    )


def parse_compiler(text: str) -> str:
    """Return the canonical text of a compiler.

    A registered compiler must exist and have the options given. One that is given by import string is checked when
    the cases are made, because only then a test's folder can be imported from.
    """
    spec = CompilerSpec.parse(text)
    if ":" not in spec.name:
        compilers.resolve(str(spec))
    return str(spec)


def parse_batch_size(value: object) -> int:
    """Return a batch size from a mark or the command line."""
    return parse_whole("batch size", value)


def parse_size_name(name: object) -> str:
    """Return the name of an axis of the user's own. Raises `UsageError` for one that an id could not show."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][\w.]*", name):
        raise UsageError(f"size {name!r} is not a name such as 'seq_len': letters, digits, dots and underscores.")
    if name in RESERVED:
        raise UsageError(f"size {name!r}: the name is taken. Give {RESERVED[name]}, which is not one of sizes.")
    return name


def parse_whole(name: str, value: Any) -> int:
    """Return a whole number from 1 up, given as text or as any integer type. `name` says what it is in messages."""
    number = int(value) if isinstance(value, str) and re.fullmatch(r"\s*\d{1,9}\s*", value) else value
    try:
        whole = 0 if isinstance(number, bool) else operator.index(number)
    except TypeError:
        whole = 0
    if whole < 1:
        raise UsageError(f"{name} {value!r} is not a whole number from 1 up.")
    return whole


def split_compilers(text: str) -> list[str]:
    """Split a list: a part with `=` but no colon continues the compiler before it.

    `identity,openvino:streams=2,hint=x` names two compilers.
    """
    parts: list[str] = []
    for part in text.split(","):
        if parts and "=" in part and ":" not in part:
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


def _sizes(config: pytest.Config) -> dict[str, Axis[int]]:
    """Return the axes that the options name. Raises `UsageError` for one that cannot be read."""
    command_line, ini = (
        _listed_sizes(texts or ()) for texts in (config.getoption("size"), config.getini("ngraph_size"))
    )
    return {name: Axis(command_line.get(name), ini.get(name)) for name in {**command_line, **ini}}


def _listed_sizes(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Read `seq_len=32,128` and its like: the values of each axis, in order and once each."""
    found: dict[str, dict[int, None]] = {}
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not values:
            raise UsageError(f"--size={text}: write an axis and its sizes, such as seq_len=32,128.")
        own = found.setdefault(parse_size_name(name), {})
        own.update((parse_whole(f"size {name}", value), None) for value in values.split(","))
    return {name: tuple(own) for name, own in found.items()}


def _one_of(what: str, value: str, allowed: Iterable[str]) -> str:
    names = list(allowed)
    if value not in names:
        hint = "Define your own in the file that the ini key ngraph_devices names." if what == "device" else ""
        raise UsageError.unknown(what, value, names, hint)
    return value
