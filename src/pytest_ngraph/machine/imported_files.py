"""The user's own modules that a module imports, as their source says: no module is imported to find out."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path

from pytest_ngraph.machine.source_files import is_own

COMPUTES = ("globals", "locals", "vars", "setattr", "exec", "eval")
"""Functions by which a module may define names that its source does not have."""


def imported_files(module: str) -> frozenset[str]:
    """Return the user's own source files of a module and of all modules that it imports, directly or not.

    Imports inside functions count. Modules that are imported by a computed name are not found.
    """
    files: dict[str, str | None] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if not name or name in files:
            continue
        files[name] = path = _source(name)
        if path is not None:
            waiting += _imports(name, path, Path(path).stat().st_mtime_ns)
        waiting.append(name.rpartition(".")[0])  # importing a module imports the packages around it
    return frozenset(path for path in files.values() if path is not None)


def is_found(module: str) -> bool:
    """Return whether this process has a module, or would find it. Nothing is imported for that."""
    return module in sys.modules or _origin(module) is not None


def may_define(module: str, name: str) -> bool:
    """Return whether a module may define a name, as its source says; nothing is imported for that.

    What it imports from another module, by its name or with all others, is not its own. True where that is not sure:
    its source is not the user's own Python, or computes names.
    """
    path = _source(module)
    if path is None:
        return is_found(module)
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True
    return any(_defines(node, name) for node in ast.walk(tree))


def _defines(node: ast.AST, name: str) -> bool:
    """Return whether a node may define a name, by itself or by computing names."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name in (name, "__getattr__")
    if isinstance(node, ast.Name):
        return node.id in COMPUTES or (node.id == name and isinstance(node.ctx, ast.Store))
    return isinstance(node, ast.Attribute) and node.attr == "modules"  # sys.modules[__name__]


def _source(name: str) -> str | None:
    """Return the real path of a module's source; None unless it is the user's own."""
    file = getattr(sys.modules[name], "__file__", None) if name in sys.modules else _origin(name)
    path = os.path.realpath(file) if isinstance(file, str) else ""
    return path if path.endswith(".py") and is_own(path) else None


def _origin(name: str) -> str | None:
    """Return where the source of a module that is not loaded would be loaded from; None if nothing is found."""
    package, _, own = name.rpartition(".")
    if not package:
        spec = _top_level(name)
        return spec.origin if spec is not None else None
    candidates = [Path(place, own, "__init__.py") for place in _places(package)]
    candidates += [Path(place, f"{own}.py") for place in _places(package)]
    return next((str(candidate) for candidate in candidates if candidate.is_file()), None)


def _places(package: str) -> list[str]:
    """Return the folders in which the modules of a package lie."""
    if package in sys.modules:
        return list(getattr(sys.modules[package], "__path__", ()))
    outer, _, own = package.rpartition(".")
    if outer:
        return [str(Path(place, own)) for place in _places(outer)]
    spec = _top_level(package)
    return list(spec.submodule_search_locations or ()) if spec is not None else []


def _top_level(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a module without a spec, such as `__main__`
        return None


@cache
def _imports(name: str, path: str, modified_ns: int) -> list[str]:
    """Return the absolute names of what a module imports; some of them are no modules but names inside one."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    package = name if Path(path).name == "__init__.py" else name.rpartition(".")[0]
    return [found for node in ast.walk(tree) for found in _named(node, package)]


def _named(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        relative = "." * node.level + (node.module or "")
        try:
            origin = importlib.util.resolve_name(relative, package)
        except ImportError:  # beyond the top-level package: importing it would fail as well
            return
        yield origin
        yield from (f"{origin}.{alias.name}" for alias in node.names)
