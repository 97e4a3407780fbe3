"""Operators that ONNX Runtime takes from shared libraries: those a case names, or that of onnxruntime-extensions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.system.installed import is_importable
from pytest_ngraph.workloads.onnx.nodes import nodes_of

if TYPE_CHECKING:
    from pytest_ngraph.case import Case

ARGUMENT = "custom_ops"
"""The model argument with the paths of libraries, separated as those of `PATH` are."""
EXTENSIONS, DOMAINS = "onnxruntime_extensions", ("ai.onnx.contrib", "com.microsoft.extensions")
"""The package whose library has the operators of these domains."""


def libraries(model: Any, case: Case) -> tuple[str, ...]:
    """Return the libraries that a graph needs, as absolute paths. Where the case names some, only those are loaded.

    Raises:
        UsageError: a library that the case names is missing, or ONNX Runtime cannot load it.
        Unsupported: the graph needs onnxruntime-extensions, and that is not installed.
    """
    given = dict(case.model_args).get(ARGUMENT)
    if given is None:
        return _extensions(model, case)
    return tuple(_loadable(path) for path in str(given).split(os.pathsep))


def register(options: Any, libraries: Sequence[str]) -> None:
    """Let a session with these `onnxruntime.SessionOptions` have the operators of these libraries."""
    for library in libraries:
        options.register_custom_ops_library(library)


def _loadable(given: str) -> str:
    path = Path(given).absolute()
    if not path.is_file():
        raise UsageError(
            f"{ARGUMENT}={given}: no such file in {Path.cwd()}. Give the path of a shared library with operators for "
            "ONNX Runtime, relative to that folder or absolute."
        )
    import onnxruntime as ort

    try:
        register(ort.SessionOptions(), [str(path)])
    except Exception as error:  # onnxruntime's errors share no base class of their own
        why = str(error).partition("\n")[0].rpartition(" with error: ")[2]
        raise UsageError(
            f"{ARGUMENT}={given}: ONNX Runtime cannot load it: {why}. Build it for the installed onnxruntime "
            f"{ort.__version__}, with the function RegisterCustomOps."
        ) from error
    return str(path)


def _extensions(model: Any, case: Case) -> tuple[str, ...]:
    functions = [node for function in model.functions for node in function.node]
    used = {node.op_type for node in (*nodes_of(model.graph), *functions) if node.domain in DOMAINS}
    if not used:
        return ()
    if not is_importable(EXTENSIONS):
        raise Unsupported(
            f"{case.workload} has operators of onnxruntime-extensions ({', '.join(sorted(used))}): "
            "pip install onnxruntime-extensions"
        )
    import onnxruntime_extensions

    return (str(onnxruntime_extensions.get_library_path()),)
