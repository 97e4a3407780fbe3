"""Registered compilers, by name, and whether their libraries are installed.

A compiler is registered as an entry point of the group `pytest_ngraph.compilers`, the built-in ones included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.case import CompilerSpec
from pytest_ngraph.compilers import options
from pytest_ngraph.compilers.interface import Compiler
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system import entry_points
from pytest_ngraph.system.installed import is_importable

GROUP = "pytest_ngraph.compilers"
MEMBERS = ("libraries", "kinds", "compile", "load")
"""What every compiler's class has."""


@cache
def resolve(text: str) -> Compiler:
    """Return the compiler that `name[:option=value,...]` describes. No library is imported."""
    spec = CompilerSpec.parse(text)
    kind = entry_points.load(GROUP, "compiler", spec.name)
    missing = [name for name in MEMBERS if not hasattr(kind, name)]
    if missing or not isinstance(kind, type):
        problem = f"it lacks {', '.join(missing)}" if isinstance(kind, type) else f"it is a {type(kind).__name__}"
        raise UsageError(
            f"compiler {spec.name!r} must be a class with {', '.join(MEMBERS)}, but {problem}. "
            "See docs/add-a-compiler.md."
        )
    values = options.parse(spec, kind)
    try:
        compiler: Compiler = kind(**values)
    except (TypeError, ValueError) as error:  # an option without a default, a value that the class itself refuses
        raise UsageError(f"compiler {text!r} cannot be created: {error}. See docs/compilers.md.") from error
    return compiler


def runs_module(text: str, artifact: Artifact) -> bool:
    """Return whether this compiler builds the workload's module and runs that, instead of its exported program.

    A compiler that may do so has a method `runs_module(artifact)`, and an option `graph` whose value `program` has it
    run the program, so that one process can hold those of two revisions. False for a compiler that cannot be loaded.
    """
    try:
        answer = getattr(resolve(text), "runs_module", None)
    except UsageError:
        return False
    return bool(answer and answer(artifact))


def names() -> list[str]:
    """Return the names of all registered compilers."""
    return sorted(entry_points.registered(GROUP))


def searches(text: str) -> bool:
    """Return whether the compiler `name[:option=value,...]` searches: two of its compiles then differ by luck."""
    return bool(getattr(resolve(text), "searches", False))


def worth_trying(text: str, target: Target) -> dict[str, float]:
    """Return which options of a compiler, given without any, are worth trying for a target.

    Returns:
        The compiler with each of them, `name:option=value,...`, and about how many times as long as the default it
        takes to compile.

    Raises:
        UsageError: the compiler names an option that it does not have.
    """
    trying = getattr(resolve(text), "worth_trying", None)
    found = (
        {str(CompilerSpec.parse(f"{text}:{each}")): effort for each, effort in trying(target).items()} if trying else {}
    )
    for each in found:
        resolve(each)
    return found


@cache
def missing_library(text: str, has_library: Callable[[str], bool] = is_importable) -> str:
    """Return why this compiler cannot be loaded, with the command that fixes it; empty when it can be loaded.

    Args:
        text: `name[:option=value,...]`.
        has_library: whether a module can be imported; by default on this machine.
    """
    name = CompilerSpec.parse(text).name
    compiler = resolve(text)
    missing = [library for library in compiler.libraries if not has_library(library)]
    if not missing:
        return ""
    what, hint = " ".join(missing), ""
    # Where its own library is there, the extra might install another build of it over that: onnxruntime-gpu.
    if missing[0] == compiler.libraries[0]:
        hint = getattr(compiler, "install_hint", "")
        if entry_points.is_built_in(GROUP, name):
            what = f'"pytest-ngraph[{name.replace("_", "-")}]"'
    return f"{name} needs {missing[0]}, which is not installed: pip install {what}{'. ' + hint if hint else ''}"
