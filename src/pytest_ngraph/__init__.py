"""Benchmarks of neural-graph compilers as pytest tests.

`__all__` is the public interface, for your own tests, compilers, metrics and workloads. Each name is loaded at its
first use, because pytest imports the package at every start: the import itself costs nothing.

Start reading at `plugin/__init__.py`, which pytest loads. A `Case` (`case.py`) becomes an `Artifact` (`artifact.py`),
is measured, and ends as a `Record` (`record/`); `comparison.py` is the part of a record that a base adds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Array, Artifact, Kind, Target
    from pytest_ngraph.case import Case, Objective, Precision
    from pytest_ngraph.clock import Stopwatch, WallStopwatch
    from pytest_ngraph.compilers import CompiledModel, Compiler, program
    from pytest_ngraph.compilers.serving import Serving
    from pytest_ngraph.errors import NgraphError, Unsupported, UsageError
    from pytest_ngraph.explain.profile import Kernel
    from pytest_ngraph.gate import Threshold
    from pytest_ngraph.metrics import Metric, Scope
    from pytest_ngraph.record import Record
    from pytest_ngraph.stats import Estimate
    from pytest_ngraph.workloads import Built, Family
    from pytest_ngraph.workloads.weights import draw_constants

__all__ = [
    "Array",
    "Artifact",
    "Built",
    "Case",
    "CompiledModel",
    "Compiler",
    "Estimate",
    "Family",
    "Kernel",
    "Kind",
    "Metric",
    "NgraphError",
    "Objective",
    "Precision",
    "Record",
    "Scope",
    "Serving",
    "Stopwatch",
    "Target",
    "Threshold",
    "Unsupported",
    "UsageError",
    "WallStopwatch",
    "draw_constants",
    "program",
]

if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name
    _HOMES = {
        "artifact": ("Array", "Artifact", "Kind", "Target"),
        "case": ("Case", "Objective", "Precision"),
        "clock": ("Stopwatch", "WallStopwatch"),
        "compilers": ("CompiledModel", "Compiler", "program"),
        "compilers.serving": ("Serving",),
        "errors": ("NgraphError", "Unsupported", "UsageError"),
        "explain.profile": ("Kernel",),
        "gate": ("Threshold",),
        "metrics": ("Metric", "Scope"),
        "record": ("Record",),
        "stats": ("Estimate",),
        "workloads": ("Built", "Family"),
        "workloads.weights": ("draw_constants",),
    }

    def __getattr__(name):
        from importlib import import_module

        home = next((home for home, names in _HOMES.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name == "program":
            return import_module(f"{__name__}.{home}.{name}")
        return getattr(import_module(f"{__name__}.{home}"), name)

    def __dir__():
        return sorted({*globals(), *__all__})
