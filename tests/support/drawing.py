"""The contents of figures, for tests."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import polars as pl
from synthetic import case, noisy

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import FIGURES
from pytest_ngraph.store import Run

UNDRAWN = (
    "side_by_side",
    "repeated",
    "parts",
    "changes",
    "sizes",
    "tails",
    "load",
    "pareto_serving",
    "pareto_cold_start",
)
"""Figures for which the synthetic study has no data: no profiles, earlier run, own sizes, single calls, load, costs."""
HOSTILE = """</script><script>alert("x")</script>,'&\\n<b>"""


def rows(name: str, study: Study, **values: object) -> pl.DataFrame:
    """Return the rows that a figure draws; given `values`, only the rows that have them."""
    spec = FIGURES[name](study).spec({})
    csv = spec["datasets"][spec["data"]["name"]]
    frame = pl.read_csv(io.StringIO(csv), infer_schema_length=None)
    return frame.filter(**values) if values else frame


def colours(spec: Any) -> Iterator[tuple[str, str]]:
    """Yield every compiler in a specification with its colour, wherever it is encoded."""
    if isinstance(spec, dict):
        colour = spec.get("color")
        if isinstance(colour, dict) and colour.get("title") == "compiler":
            yield from zip(colour["scale"]["domain"], colour["scale"]["range"], strict=True)
        for part in spec.values():
            yield from colours(part)
    if isinstance(spec, list):
        for part in spec:
            yield from colours(part)


def hostile_study() -> Study:
    """Return a study whose workload, compiler and device have names made to break out of HTML, SVG and JSON."""
    records = tuple(
        noisy(case(compiler, batch_size, workload=workload, device=HOSTILE), seconds * batch_size**0.5, seed=batch_size)
        for workload, factor in ((HOSTILE, 1.0), ("resnet18", 3.0))
        for compiler, seconds in (("identity", 0.1 * factor), (HOSTILE, 0.2 / factor))
        for batch_size in (1, 2)
    )
    return Study.of([Run(id="1", environment={"processor": HOSTILE}, records=records)])
