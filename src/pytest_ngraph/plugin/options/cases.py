"""Options that say which cases there are: devices, compilers, batch sizes and others, precisions, objectives."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypedDict

import pytest

from pytest_ngraph import compilers
from pytest_ngraph.case import OBJECTIVES, PRECISIONS, CompilerSpec, split_compilers
from pytest_ngraph.errors import UsageError
from pytest_ngraph.plugin.options.reading import Declare, axis
from pytest_ngraph.session.options import Axis
from pytest_ngraph.sizes import listed_sizes, parse_whole


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
    add("--batch-size", "ngraph_batch_size", "Batch sizes. Default: 1", action="append", metavar="N[,N...]")
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


def _sizes(config: pytest.Config) -> dict[str, Axis[int]]:
    """Return the axes that the options name. Raises `UsageError` for one that cannot be read."""
    command_line, ini = (
        listed_sizes(map(str, texts or ())) for texts in (config.getoption("size"), config.getini("ngraph_size"))
    )
    return {name: Axis(command_line.get(name), ini.get(name)) for name in {**command_line, **ini}}


def _one_of(what: str, value: str, allowed: Iterable[str]) -> str:
    names = list(allowed)
    if value not in names:
        hint = "Define your own in the file that the ini key ngraph_devices names." if what == "device" else ""
        raise UsageError.unknown(what, value, names, hint)
    return value
