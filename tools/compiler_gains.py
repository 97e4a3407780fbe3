"""Measure each compiler's gain over eager PyTorch on the study's five small models, at batch size 1.

    python tools/compiler_gains.py [--write] [PYTEST OPTION ...]

It is one pytest session, so that all compilers of a model are measured alternately. The cache is off: seconds of
compiling are those of a cold start. `--compiler=identity,tvm` leaves out the others, `--ngraph-budget=3` is quicker.
`--compiler=identity,onnxruntime,onnxruntime:rewrite=true -k deit3` compares options of one compiler.
`--write` puts the tables into docs/compilers.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import markdown_output
import numpy as np
import small_models

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.metrics import Metrics, compute
from pytest_ngraph.metrics.cells import Cells, why_not_measured
from pytest_ngraph.metrics.panels import Chunk, Panels
from pytest_ngraph.metrics.rates import Rates
from pytest_ngraph.metrics.text import quantity, with_interval
from pytest_ngraph.record import Record
from pytest_ngraph.store import Run

BATCH_SIZE = 1
ABSENT = "–"

Models = Mapping[str, Mapping[str, Record]]
"""The records of each model by compiler."""
Show = Callable[[Record], str]
"""Returns the result of one compiler on one model as text; empty where there is none."""


def report(records: Sequence[Record]) -> str:
    """Return the gains, their cost, how far the outputs are from eager PyTorch's, and why cells are empty."""
    models: dict[str, dict[str, Record]] = {}
    for record in records:
        models.setdefault(record.case.model_label, {})[record.case.compiler] = record
    names = list(dict.fromkeys(record.case.compiler for record in records))
    compiled = [name for name in names if name != IDENTITY]
    metrics = compute(records)
    means = {name: _mean_speedup(records, name) for name in compiled}
    parts = [
        "Speedup over eager PyTorch with its 95 % interval (~: did not settle within the budget):",
        _grid(models, compiled, lambda record: _speedup(record, models, metrics), means),
        "Compiling, cold:",
        _grid(models, compiled, _compile_s),
        "Largest error of the outputs, against a tolerance of 1e-4:",
        _grid(models, names, _error),
        "\n".join(f"- {reason}" for reason in _absences(records)),
    ]
    return "\n\n".join(part for part in parts if part)


def _grid(models: Models, names: Sequence[str], show: Show, means: Mapping[str, str] | None = None) -> str:
    """Return a row for each compiler and a column for each model. `means` are over all models, by compiler."""
    heading = ["compiler", *models, *(["geometric mean"] if means else [])]
    rows = []
    for name in names:
        shown = [(name in own and show(own[name])) or ABSENT for own in models.values()]
        rows.append([f"`{name}`", *shown, *([means[name]] if means else [])])
    return markdown_output.table(heading, rows)


def _speedup(record: Record, models: Models, metrics: Metrics) -> str:
    estimate = metrics.by_case[record.case]["speedup"].estimate
    if estimate is None:
        return ""
    settled = record.stable and models[record.case.model_label][IDENTITY].stable
    return with_interval(estimate) + ("" if settled else " ~")


def _mean_speedup(records: Sequence[Record], compiler: str) -> str:
    """Return the geometric mean, with its interval, over the models on which both were measured."""
    panels = Panels.of(Cells.of(records))
    own = [case.compiler == compiler for case in panels.cells.cases]
    rows = np.flatnonzero(own & panels.cells.measured & panels.has("identity"))
    if not len(rows):
        return ABSENT
    (every,) = panels.chunks()
    logs = Chunk(panels, every).speedup(rows).log().scaled(np.full(len(rows), 1 / len(rows)))
    mean = logs.sums(np.zeros(1, dtype=np.intp))
    return with_interval(Rates(np.exp(mean.values), mean.deviations, mean.known).estimates()[0])


def _compile_s(record: Record) -> str:
    return "" if record.total_compile_s is None else quantity(record.total_compile_s, "s")


def _error(record: Record) -> str:
    if record.agreement is None:
        return ""
    return f"{record.agreement.error:.0e}" + ("" if record.agreement.agrees else " disagrees")


def _absences(records: Sequence[Record]) -> list[str]:
    problems = ((record, why_not_measured(record)) for record in records)
    return [f"`{each.case.compiler}` on {each.case.model_label} {problem}" for each, problem in problems if problem]


def find(options: Sequence[str]) -> tuple[Run, str]:
    """Run the session. Return its run and its tables."""
    run = small_models.measure("--device=cpu", f"--batch-size={BATCH_SIZE}", "--ngraph-cache=off", *options)
    return run, report(run.records)


if __name__ == "__main__":
    small_models.main(__doc__, "small models", find)
