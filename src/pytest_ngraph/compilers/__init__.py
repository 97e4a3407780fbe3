"""Compilers, one file or folder each, found by entry points.

A compiler works in two steps, so that its results can be cached and moved to another machine: `compile` turns an
artifact into files in a folder, `load` turns those files into a compiled model that runs.

In: a compiler's text (`name[:option=value,...]`), an artifact and a target. Out: a `Compiler`, and from it a
`CompiledModel`. Open `interface.py` first, for what both provide, then `torchscript.py`, a short compiler; `kinds/` has
a file for each kind of device. Importing this package loads no framework: each compiler imports its library inside its
methods.
"""

from pytest_ngraph.compilers.in_host_time import InHostTime
from pytest_ngraph.compilers.interface import CompiledModel, Compiler, refuse_precision
from pytest_ngraph.compilers.registry import missing_library, names, resolve, runs_module, searches, worth_trying

__all__ = [
    "CompiledModel",
    "Compiler",
    "InHostTime",
    "missing_library",
    "names",
    "refuse_precision",
    "resolve",
    "runs_module",
    "searches",
    "worth_trying",
]
