"""Marks become cases. Both are plain data: no framework is imported and no device is touched."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import pytest
from _pytest.mark.structures import get_unpacked_marks

from pytest_ngraph import compilers, workloads
from pytest_ngraph.case import BATCH, IDENTITY, LATENCY, OBJECTIVES, PRECISIONS, Case, CompilerSpec, Scalar, Shape
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.machine.host import THIS_MACHINE, Host
from pytest_ngraph.plugin.options import parse_batch_size, parse_compiler, parse_size_name, parse_whole
from pytest_ngraph.session.options import Axis, Options

MARKERS = (
    "ngraph(workload, compiler, batch_size, depth, width, sizes, precision, objective, device, model_args, shapes, "
    "inputs): generate one test per combination; each argument but the last three, and each of sizes, is one value or "
    "several",
    "requires_device(kind, architecture, instruction_set, capability, memory, library): "
    "skip where the device lacks one of these",
    "ngraph_gate(*thresholds): fail these tests when a metric breaches one of the thresholds, such as 'speedup<1.2'",
)
ARGUMENTS = (
    "workload", "compiler", "batch_size", "depth", "width", "sizes", "precision", "objective", "device", "model_args",
    "shapes", "inputs",
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
        fixed_compilers: compilers that the test's fixtures name; they leave the test no choice.
        host: returns the machine of a device.

    Raises:
        UsageError: a mark cannot be read, or names what does not exist.
    """
    given = arguments(marks)
    found = cases(given, options, fixed_compilers[:1], host)
    if not found and fixed_compilers:
        given["compiler"] = fixed_compilers
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
    devices = options.devices.values(_texts(given, "device", options.inventory), ("cpu",))
    batch_sizes = options.batch_sizes.values(_each(given, "batch_size", parse_batch_size), (1,))
    precisions = options.precisions.values(_texts(given, "precision", PRECISIONS), ("fp32",))
    objectives = options.objectives.values(_texts(given, "objective", OBJECTIVES), ("latency",))
    marked = fixed_compilers or _each(given, "compiler", _compiler)
    chosen = {device: _compilers(options, marked, options.inventory[device], host) for device in devices}
    return [
        dataclasses.replace(
            sample,
            compiler=compiler,
            batch_size=batch_size,
            precision=precision,  # type: ignore[arg-type]  # checked by _texts and the options
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
        marked = _listed(given.get(name, ()))
        if marked and axis.command_line and not set(marked) & set(axis.command_line):
            flag = f"--{name.replace('_', '-')}={','.join(map(str, axis.command_line))}"
            return f"the mark allows {name} {', '.join(map(str, marked))}, and {flag} asks for others"
    for name, sizes in _marked_sizes(given).items():
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


def _workloads(given: Mapping[str, Any], options: Options) -> list[Case]:
    """Return a case for every workload, depth, width and other sizes, checked by its family.

    They have identity as their compiler and batch size 1.
    """
    names = _each(given, "workload", lambda value: _text("workload", value)) or ()
    depths = _each(given, "depth", lambda value: parse_whole("depth", value)) or (None,)
    widths = _each(given, "width", lambda value: parse_whole("width", value)) or (None,)
    model_args, shapes = _model_args(given.get("model_args", {})), _shapes(given.get("shapes", {}))
    inputs = _text("inputs", given["inputs"], "package.module:function") if "inputs" in given else ""
    marked = _marked_sizes(given)
    samples = []
    for workload, depth, width in product(names, depths, widths):
        offered = options.sizes if "sizes" in workloads.taken(workload) else {}
        for sizes in _combined(marked, offered, options):
            sample = Case(
                workload=workload,
                compiler=IDENTITY,
                batch_size=1,
                depth=depth,
                width=width,
                sizes=sizes,
                model_args=model_args,
                shapes=shapes,
                inputs=inputs,
            )
            workloads.check(sample)
            samples.append(sample)
    return samples


def _marked_sizes(given: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the values of each axis of the user's own that the mark gives."""
    sizes = given.get("sizes", {})
    if not isinstance(sizes, Mapping):
        raise UsageError(
            f"mark ngraph: sizes {sizes!r} is not a dict of axes and their sizes, such as {{'seq_len': [32, 128]}}."
        )
    found = {}
    for name, values in sizes.items():
        own = _each({parse_size_name(name): values}, name, partial(parse_whole, f"size {name}"))
        found[name] = own or ()
    return found


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


def _listed(value: Any) -> list[Any]:
    """Return one value or several as a list.

    Raises `UsageError` for one-shot iterators, because several tests may share a mark.
    """
    if isinstance(value, Iterator):
        raise UsageError(
            f"mark ngraph: {type(value).__name__} can be read only once, and several tests may share a "
            "mark. Give a list: list(...)."
        )
    return [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)


def _each(given: Mapping[str, Any], name: str, parse: Callable[[Any], Any]) -> tuple[Any, ...] | None:
    """Return the parsed values of one argument, in order and once each; None where the mark is silent."""
    if name not in given:
        return None
    values = tuple(dict.fromkeys(parse(value) for value in _listed(given[name])))
    if not values:
        raise UsageError(f"mark ngraph: {name} is empty. Give one value or several.")
    return values


def _texts(given: Mapping[str, Any], name: str, allowed: Iterable[str]) -> tuple[str, ...] | None:
    def parse(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise UsageError.unknown(name, value, allowed)
        return value

    return _each(given, name, parse)


def _text(name: str, value: Any, example: str = "resnet18") -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"mark ngraph: {name} {value!r} is not a text such as {example!r}.")
    return value


def _compiler(value: Any) -> str:
    return parse_compiler(_text("compiler", value))


def _model_args(value: Any) -> tuple[tuple[str, Scalar], ...]:
    if not isinstance(value, Mapping) or not all(
        isinstance(k, str) and isinstance(v, Scalar) for k, v in value.items()
    ):
        raise UsageError(f"mark ngraph: model_args {value!r} is not a dict of texts, numbers and booleans.")
    return tuple(sorted(value.items()))


def _shapes(value: Any) -> tuple[tuple[str, Shape], ...]:
    """Return the shapes of a mark. Raises `UsageError` for what is no shape."""
    example = "{'x': ('batch', 3, 'height', 320)}"
    if not isinstance(value, Mapping):
        raise UsageError(f"mark ngraph: shapes {value!r} is not a dict of inputs and their shapes, such as {example}.")
    found = {}
    for name, shape in value.items():
        axes = [shape] if isinstance(shape, str) or not isinstance(shape, Iterable) else list(shape)
        if not isinstance(name, str) or not all(isinstance(axis, str) or type(axis) is int for axis in axes):
            raise UsageError(
                f"mark ngraph: shapes[{name!r}]={shape!r} is not a tuple of whole numbers, 'batch' and names of sizes, "
                f"such as {example}."
            )
        if wrong := [axis for axis in axes if not isinstance(axis, str) and axis < 0]:
            raise UsageError(f"mark ngraph: shapes[{name!r}] has the axis {wrong[0]}. Give a whole number from 0 up.")
        found[name] = tuple(axis if axis == BATCH or isinstance(axis, int) else parse_size_name(axis) for axis in axes)
    return tuple(sorted(found.items()))


def obstacle(case: Case, device: Device, host: Host = THIS_MACHINE) -> str:
    """Return what stands in the way of this case on the device as it is; empty when nothing does.

    Args:
        host: machine of the device.
    """
    return "; ".join(reason for reason in _obstacles(case, device, host) if reason)


def _obstacles(case: Case, device: Device, host: Host) -> Iterator[str]:
    """Yield all obstacles at once, so that nobody finds the right device only to learn of a missing library."""
    compiler = compilers.resolve(case.compiler)
    name = CompilerSpec.parse(case.compiler).name
    yield device.absent(host.machine, host.place, host.is_importable)
    if device.kind not in compiler.kinds:
        yield f"{name} does not compile for {device.kind}, only for {', '.join(compiler.kinds)}"
    if case.objective not in getattr(compiler, "objectives", (LATENCY,)):
        yield f"{name} is measured for {LATENCY} only: it has no way of running several requests at a time here"
    yield host.missing_library(case.compiler)
