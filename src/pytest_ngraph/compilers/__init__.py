"""Compilers: one file each, found by entry points (group `pytest_ngraph.compilers`), built-ins included.

A compiler works in two steps, so that what it makes can be cached and carried: `compile` turns an artifact into files
in a folder, `load` turns those files into something that runs.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Protocol, Union, get_args, get_origin, get_type_hints

from pytest_ngraph.artifact import Array, Artifact, Kind, Target
from pytest_ngraph.case import CompilerSpec
from pytest_ngraph.clock import Stopwatch
from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.system import entry_points
from pytest_ngraph.system.installed import is_importable

GROUP = "pytest_ngraph.compilers"
WHOLE_NUMBER = re.compile(r"[+-]?\d+", re.ASCII)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
MEMBERS = ("libraries", "kinds", "compile", "load")
"""What every compiler's class has."""


class CompiledModel(Protocol):
    """A workload that runs on its inputs, which stay where the device reads them."""

    def __call__(self) -> object:
        """One iteration. On a GPU it may return before the work is done; `stopwatch` knows when it is."""
        ...

    def outputs(self) -> Sequence[Array]:
        """Run once and give the outputs, flattened in the graph's order, floats of any precision as fp32."""
        ...

    @property
    def concurrency(self) -> int:
        """Iterations that one call runs side by side; 1 where they run one after another."""
        ...

    @property
    def stopwatch(self) -> Stopwatch:
        """Times bursts of calls on the device that runs them."""
        ...

    @property
    def facts(self) -> dict[str, str]:
        """What really runs, asked of the library where it tells: version, precision, provider, threads."""
        ...

    def close(self) -> None:
        """Free what is held. Called once."""
        ...


class InHostTime:
    """A compiled model whose calls return when their work is done, for those who time it by the host's clock."""

    def __init__(self, model: CompiledModel) -> None:
        self._model = model

    def __call__(self) -> None:
        self.stopwatch.start()
        self._model()
        self.stopwatch.stop()

    def outputs(self) -> Sequence[Array]:
        return self._model.outputs()

    @property
    def concurrency(self) -> int:
        return self._model.concurrency

    @property
    def stopwatch(self) -> Stopwatch:
        return self._model.stopwatch

    @property
    def facts(self) -> dict[str, str]:
        return self._model.facts

    def close(self) -> None:
        self._model.close()


class Compiler(Protocol):
    """Turns an artifact into a compiled model. An instance is one compiler with its options set.

    The class declares what is known without importing its library; options are the fields of a frozen dataclass,
    typed `bool`, `int`, `float`, `str`, `Literal[...]` or one of these `| None`, each with a default.
    """

    libraries: ClassVar[tuple[str, ...]]
    """Modules that must be importable, the compiler's own first."""
    kinds: ClassVar[tuple[Kind, ...]]
    """Kinds of device it compiles for.

    A class may also declare `install_hint`, a sentence on installing its libraries where pip alone is not enough, and
    `objectives`, those that it can be measured for; without it, latency only.
    """

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Compile into `folder`, which is empty. Raise `Unsupported` for what it cannot do at all."""
        ...

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        """Make what `compile` left in `folder` runnable, with the artifact's inputs in place."""
        ...


@cache
def resolve(text: str) -> Compiler:
    """The compiler that `name[:option=value,...]` describes. No library is imported."""
    spec = CompilerSpec.parse(text)
    kind = entry_points.load(GROUP, "compiler", spec.name)
    missing = [name for name in MEMBERS if not hasattr(kind, name)]
    if missing or not isinstance(kind, type):
        raise UsageError(
            f"compiler {spec.name!r} is no class with {', '.join(missing or MEMBERS)}. See docs/add-a-compiler.md."
        )
    options = _parse_options(spec, kind)
    try:
        compiler: Compiler = kind(**options)
    except (TypeError, ValueError) as error:  # an option without a default, a value that the class itself refuses
        raise UsageError(f"compiler {text!r} cannot be made: {error}. See docs/compilers.md.") from error
    return compiler


def names() -> list[str]:
    """Names of all registered compilers."""
    return sorted(entry_points.registered(GROUP))


@cache
def missing_library(text: str, has_library: Callable[[str], bool] = is_importable) -> str:
    """Why this compiler cannot be loaded, with the command that mends it; empty when it can. has_library: whether a
    module can be imported, here by default."""
    name = CompilerSpec.parse(text).name
    compiler = resolve(text)
    hint = getattr(compiler, "install_hint", "")
    for library in compiler.libraries:
        if not has_library(library):
            extra = f'"pytest-ngraph[{name.replace("_", "-")}]"' if entry_points.is_built_in(GROUP, name) else library
            return f"{name} needs {library}, which is not installed: pip install {extra}{'. ' + hint if hint else ''}"
    return ""


def refuse_precision(compiler: str, target: Target, supported: tuple[str, ...]) -> None:
    """Raise `Unsupported` when the target's precision is not among those supported."""
    if target.precision not in supported:
        raise Unsupported(
            f"{compiler} does not run {target.precision} on {target.kind}; it runs {', '.join(supported)}"
        )


def _parse_options(spec: CompilerSpec, kind: type) -> dict[str, Any]:
    keys = [key for key, _ in spec.options]
    if len(set(keys)) < len(keys):
        raise UsageError(f"compiler {spec}: an option is given twice.")
    known = [each.name for each in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    for key in keys:
        if key not in known:
            hint = "" if known else f"{spec.name} has none."
            raise UsageError.unknown(f"option of compiler {spec.name}", key, known, hint)
    types = _option_types(spec.name, kind) if spec.options else {}
    return {key: _parse_value(spec.name, key, value, types[key]) for key, value in spec.options}


def _option_types(compiler: str, kind: type) -> dict[str, Any]:
    try:
        return get_type_hints(kind)
    except NameError as error:
        raise UsageError(
            f"the types of compiler {compiler}'s options cannot be read: {error}. Import what its annotations name "
            "outside of TYPE_CHECKING."
        ) from error


def _parse_value(compiler: str, key: str, value: str, kind: Any) -> Any:
    """The value as its annotation has it. One that is no literal, Boolean or number, or a union of several, stays a
    text."""
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
