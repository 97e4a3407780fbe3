"""What each compiler gains over eager PyTorch on the study's five small models, at batch size 1.

    python tools/compilers.py [--write] [PYTEST OPTION ...]

One pytest session, so that all compilers of a model are measured in turn. Nothing is taken from the cache: seconds of
compiling are those of a cold start. `--compiler=identity,tvm` leaves out the others, `--ngraph-budget=3` is quicker.
`--write` puts the tables into docs/compilers.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import small_models

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.metrics.cells import Missing, Panel, panels
from pytest_ngraph.metrics.text import quantity, with_interval
from pytest_ngraph.stats import Sampled, weighted_sum
from pytest_ngraph.store import Run

BATCH_SIZE = 1
ABSENT = "–"

Show = Callable[[Panel, str], str]
"""What one compiler did on one model. Raises `Missing`."""


def report(found: Sequence[Panel]) -> str:
    """What was gained, what it cost, how far the outputs are from eager PyTorch's, and why cells are empty."""
    names = list(dict.fromkeys(cell.case.compiler for panel in found for cell in panel))
    compiled = [name for name in names if name != IDENTITY]
    parts = [
        "Speedup over eager PyTorch with its 95 % interval (~: did not settle within the budget):",
        _grid(found, compiled, _speedup, geometric_mean=_mean_speedup),
        "Compiling, cold:",
        _grid(found, compiled, _compile_s),
        "Largest error of the outputs, against a tolerance of 1e-4:",
        _grid(found, names, _error),
        "\n".join(f"- {reason}" for reason in _absences(found)),
    ]
    return "\n\n".join(part for part in parts if part)


def _grid(
    found: Sequence[Panel], names: Sequence[str], show: Show, **wider: Callable[[Sequence[Panel], str], str]
) -> str:
    """A row for each compiler and a column for each model; `wider` are columns over all models, by name."""
    heading = ["compiler", *map(_model, found), *(name.replace("_", " ") for name in wider)]
    rows = []
    for name in names:
        cells = [_or_absent(show, panel, name) for panel in found]
        rows.append([f"`{name}`", *cells, *(_or_absent(column, found, name) for column in wider.values())])
    return small_models.table(heading, rows)


def _or_absent(show: Callable[..., str], *arguments: object) -> str:
    try:
        return show(*arguments)
    except Missing:
        return ABSENT


def _model(panel: Panel) -> str:
    return next(iter(panel)).case.model_label


def _speedup(panel: Panel, compiler: str) -> str:
    settled = all(panel.cell(name, BATCH_SIZE).record.stable for name in (compiler, IDENTITY))
    return with_interval(panel.speedup(compiler, BATCH_SIZE).estimate()) + ("" if settled else " ~")


def _mean_speedup(found: Sequence[Panel], compiler: str) -> str:
    logs = [panel.speedup(compiler, BATCH_SIZE).log() for panel in found]
    mean = weighted_sum(np.full(len(logs), 1 / len(logs)), logs)
    return with_interval(Sampled(np.exp(mean.value), np.exp(mean.draws), mean.known).estimate())


def _compile_s(panel: Panel, compiler: str) -> str:
    seconds = panel.cell(compiler, BATCH_SIZE).record.compile_s
    return ABSENT if seconds is None else quantity(seconds, "s")


def _error(panel: Panel, compiler: str) -> str:
    agreement = panel.cell(compiler, BATCH_SIZE).record.agreement
    if agreement is None:
        return ABSENT
    return f"{agreement.error:.0e}" + ("" if agreement.agrees else " disagrees")


def _absences(found: Sequence[Panel]) -> list[str]:
    return [
        f"`{cell.case.compiler}` on {_model(panel)} {cell.problem}" for panel in found for cell in panel if cell.problem
    ]


def find(options: Sequence[str]) -> tuple[Run, str]:
    """The session and its tables."""
    run = small_models.measure("--device=cpu", f"--batch-size={BATCH_SIZE}", "--ngraph-cache=off", *options)
    return run, report(list(panels(run.records).values()))


if __name__ == "__main__":
    small_models.main(__doc__, "small models", find)
