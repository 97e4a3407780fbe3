"""Marks become cases. Both are plain data: no framework is imported and no device is touched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import pytest
from _pytest.mark.structures import get_unpacked_marks

from pytest_ngraph import compilers, workloads
from pytest_ngraph.case import IDENTITY, OBJECTIVES, PRECISIONS, Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.machine.host import THIS_MACHINE, Host
from pytest_ngraph.plugin import mark_values
from pytest_ngraph.plugin.options import parse_batch_size, parse_compiler
from pytest_ngraph.session.options import DEFAULT_DEVICES, Axis, Options
from pytest_ngraph.sizes import parse_whole
from pytest_ngraph.system.user_functions import check_score

MARKERS = (
    "ngraph(workload, compiler, batch_size, depth, width, sizes, precision, objective, device, model_args, shapes, "
    "inputs, score): generate one test per combination; each argument but the last four, and each of sizes, is one "
    "value or several",
    "requires_device(kind, architecture, instruction_set, capability, memory, library): "
    "skip where the device lacks one of these",
    "ngraph_gate(*thresholds): fail these tests when a metric breaches one of the thresholds, such as 'speedup<1.2'",
)
ARGUMENTS = (
    "workload", "compiler", "batch_size", "depth", "width", "sizes", "precision", "objective", "device", "model_args",
    "shapes", "inputs", "score",
)  # fmt: skip


def nearest_first(item: pytest.Item) -> list[pytest.Mark]:
    """Return the `ngraph` marks of a test: of its function, its class, the class's bases, its module.

    pytest lists those of the bases before those of the class itself.
    """
    found: list[pytest.Mark] = []
    for node in reversed(item.listchain()):
        own = [mark for mark in node.own_markers if mark.name == "ngraph"]
        if isinstance(node, pytest.Class):
            bases = [list(map(id, get_unpacked_marks(base, consider_mro=False))) for base in node.obj.__mro__]
            own.sort(key=lambda mark: next((place for place, of in enumerate(bases) if id(mark) in of), 0))
        found += own
    return found


class Generated(NamedTuple):
    """The cases of a test, and why there are none, where there are none."""

    cases: list[Case]
    reason: str


def generate(
    marks: Iterable[pytest.Mark],
    options: Options,
    fixed_compilers: tuple[str, ...] = (),
    host: Callable[[str], Host] = lambda device: THIS_MACHINE,
) -> Generated:
    """Return the cases of a test that has these marks, the nearest first.

    Args:
        fixed_compilers: compilers that the test's fixtures name; the first leaves the test no choice.
        host: returns the machine of a device.

    Raises:
        UsageError: a mark cannot be read, or names what does not exist.
    """
    given = arguments(marks)
    fixed = fixed_compilers[:1]
    found = cases(given, options, fixed, host)
    if not found and fixed:
        given["compiler"] = fixed
    return Generated(found, "" if found else _nothing_left(given, options))


def arguments(marks: Iterable[pytest.Mark]) -> dict[str, Any]:
    """Merge the arguments of all `ngraph` marks of a test; a nearer mark overrides a farther one."""
    merged: dict[str, Any] = {}
    for mark in marks:
        if mark.args:
            raise UsageError(f"mark ngraph takes arguments by name only: ngraph(workload={mark.args[0]!r}).")
        for name in mark.kwargs:
            if name not in ARGUMENTS:
                raise UsageError.unknown("argument of mark ngraph", name, ARGUMENTS)
        merged = {**mark.kwargs, **merged}
    return merged


def cases(
    given: Mapping[str, Any],
    options: Options,
    fixed_compilers: tuple[str, ...] = (),
    host: Callable[[str], Host] = lambda device: THIS_MACHINE,
) -> list[Case]:
    """Return the cases of a test: those of one group (all but the compiler) in a row, small batch sizes first."""
    if "workload" not in given:
        raise UsageError("mark ngraph needs a workload: ngraph(workload='resnet18').")
    devices = options.devices.values(mark_values.texts(given, "device", options.inventory), DEFAULT_DEVICES)
    batch_sizes = options.batch_sizes.values(mark_values.each(given, "batch_size", parse_batch_size), (1,))
    precisions = options.precisions.values(mark_values.texts(given, "precision", PRECISIONS), ("fp32",))
    objectives = options.objectives.values(mark_values.texts(given, "objective", OBJECTIVES), ("latency",))
    marked = fixed_compilers or mark_values.each(given, "compiler", mark_values.compiler)
    chosen = {device: _compilers(options, marked, options.inventory[device], host) for device in devices}
    return [
        Case(
            **sample,
            compiler=compiler,
            batch_size=batch_size,
            precision=precision,  # type: ignore[arg-type]  # checked by mark_values.texts and the options
            objective=objective,  # type: ignore[arg-type]
            device=device,
        )
        for sample in _workloads(given, options)
        for device, precision, objective, batch_size in product(devices, precisions, objectives, sorted(batch_sizes))
        for compiler in chosen[device]
    ]


def _nothing_left(given: Mapping[str, Any], options: Options) -> str:
    """Return why a test has no cases: which option leaves nothing of what the mark allows."""
    axes: dict[str, Axis[Any]] = {
        "device": options.devices,
        "compiler": options.compilers,
        "batch_size": options.batch_sizes,
        "precision": options.precisions,
        "objective": options.objectives,
    }
    for name, axis in axes.items():
        marked = mark_values.listed(given.get(name, ()))
        if marked and axis.command_line and not set(marked) & set(axis.command_line):
            flag = f"--{name.replace('_', '-')}={','.join(map(str, axis.command_line))}"
            return f"the mark allows {name} {', '.join(map(str, marked))}, and {flag} asks for others"
    for name, sizes in mark_values.marked_sizes(given).items():
        asked = options.sizes[name].command_line if name in options.sizes else None
        if asked and not set(sizes) & set(asked):
            flag = f"--size {name}={','.join(map(str, asked))}"
            return f"the mark allows {name} {', '.join(map(str, sizes))}, and {flag} asks for others"
    return "no installed compiler supports the device; pytest-ngraph doctor lists what is missing"


def _compilers(
    options: Options, marked: tuple[str, ...] | None, device: Device, host: Callable[[str], Host]
) -> tuple[str, ...]:
    chosen = options.compilers.values(marked, tuple(map(parse_compiler, device.compilers)))
    if marked is None and not chosen:
        chosen = _installed(device, host(device.name))
    for compiler in chosen:
        compilers.resolve(compiler)
    return chosen


def _installed(device: Device, host: Host) -> tuple[str, ...]:
    """Return every compiler that is installed and supports the device, identity first."""
    names = [n for n in compilers.names() if device.kind in compilers.resolve(n).kinds]
    usable = [name for name in names if not host.missing_library(name)]
    return tuple(sorted(usable, key=lambda name: (name != IDENTITY, name)))


def _workloads(given: Mapping[str, Any], options: Options) -> list[dict[str, Any]]:
    """Return fields of cases, for every workload, depth, width and other sizes, checked by the workload's family."""
    names = mark_values.each(given, "workload", lambda value: mark_values.text("workload", value)) or ()
    depths = mark_values.each(given, "depth", lambda value: parse_whole("depth", value)) or (None,)
    widths = mark_values.each(given, "width", lambda value: parse_whole("width", value)) or (None,)
    model_args = mark_values.model_args(given.get("model_args", {}))
    shapes = mark_values.shapes(given.get("shapes", {}))
    inputs = mark_values.text("inputs", given["inputs"], "package.module:function") if "inputs" in given else ""
    scored_by = check_score(given["score"]) if "score" in given else ""
    marked = mark_values.marked_sizes(given)
    samples = []
    for workload, depth, width in product(names, depths, widths):
        offered = options.sizes if "sizes" in workloads.taken(workload) else {}
        for sizes in _combined(marked, offered, options):
            sample = {
                "workload": workload,
                "depth": depth,
                "width": width,
                "sizes": sizes,
                "model_args": model_args,
                "shapes": shapes,
                "inputs": inputs,
                "scored_by": scored_by,
            }
            workloads.check(Case(compiler=IDENTITY, batch_size=1, **sample))
            samples.append(sample)
    return samples


def _combined(
    marked: Mapping[str, tuple[int, ...]], open_axes: Mapping[str, Axis[int]], options: Options
) -> Iterator[tuple[tuple[str, int], ...]]:
    """Yield every combination of sizes.

    Args:
        marked: the axes of the mark, which the options narrow.
        open_axes: the axes of the options that are also for marks that do not name them.
    """
    silent: Axis[int] = Axis(None, None)
    axes = {name: options.sizes.get(name, silent).values(values, ()) for name, values in marked.items()}
    axes |= {name: axis.values(None, ()) for name, axis in open_axes.items() if name not in marked}
    names = sorted(axes)
    for values in product(*(sorted(axes[name]) for name in names)):
        yield tuple(zip(names, values, strict=True))
