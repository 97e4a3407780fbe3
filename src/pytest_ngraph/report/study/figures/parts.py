"""Where the time of a call goes: a bar for each compiler, divided into the modules of the network."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import altair as alt
import polars as pl

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.explain.parts import Part, by_modules, by_operators, names_modules
from pytest_ngraph.report.explained import fitting_name, titled
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import palette
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.filters import with_parameters, without_hidden
from pytest_ngraph.report.study.figures.rows import inlined, profiled

MOST_PANELS = 24
COLUMNS = 2
WIDTH, STEP = 400, 24
"""Pixels of a panel's width, and of a compiler in it."""
LONGEST_NAME = 38
COLOURS = {
    "others": palette.OTHERS_COLOUR,
    "layout": palette.LAYOUT_COLOUR,
    "unattributed": palette.UNKNOWN_COLOUR,
    "outside": palette.OUTSIDE_COLOUR,
}


class Panel(NamedTuple):
    """The compilers of one workload whose time can be divided into the same parts.

    Attributes:
        title: in two lines.
        cases: rows of the cases.
        parts: with a time for each case.
    """

    title: list[str]
    cases: pl.DataFrame
    parts: list[Part]


def parts(study: Study) -> Figure:
    figure = Figure(
        name="parts",
        title="Where the time of a call goes",
        note="Time by module of the network, in its order, at the depth where something happens. The percentage is the "
        "share of the call that was profiled, and the mark across a bar is the call timed without a profiler: what is "
        "beyond it is what the profiler costs. Below 80 % no module is named, and the parts are kinds of operators. "
        "Stacks of blocks are shown at their greatest depth.",
    )
    panels = list(_panels(study))
    if not panels:
        return figure.without("needs cases whose time was profiled: --ngraph-explain does that")
    left_out = f"Only {MOST_PANELS} of {len(panels)} panels are drawn; every case has a page of its own."
    charts = [_chart(study, panel) for panel in panels[:MOST_PANELS]]
    grid = alt.concat(*charts, columns=COLUMNS, spacing=40).resolve_scale(color="independent")
    return figure.drawn(with_parameters(grid), left_out if len(panels) > MOST_PANELS else "")


def _panels(study: Study) -> Iterator[Panel]:
    greatest = pl.col("depth").max().over("place", "label", "width", "sizes")
    deepest = profiled(study).filter(pl.col("depth").is_null() | (pl.col("depth") == greatest))
    for _, group in deepest.group_by("place", "network", "batch_size", maintain_order=True):
        size = f"batch {group['batch_size'][0]} on {group['place'][0]}"
        named = pl.Series([names_modules(study.profiles[case]) for case in group["case"]])
        for divide, cases, suffix in (
            (by_modules, group.filter(named), ""),
            (by_operators, group.filter(~named), ", by operator"),
        ):
            if not cases.is_empty():
                kept = [study.profiles[case] for case in cases["case"]]
                yield Panel([group["network"][0], size + suffix], cases, divide(kept))


def _chart(study: Study, panel: Panel) -> alt.LayerChart:
    rows = _rows(study, panel)
    names = rows.unique("part", maintain_order=True).select("part", "kind")
    bars = rows.sort(pl.col("compiler") != IDENTITY, maintain_order=True)["bar"].unique(maintain_order=True).to_list()
    y = alt.Y("bar:N", title=None, sort=bars)
    base = alt.Chart().encode(y=y)
    legend = alt.Legend(
        orient="bottom", columns=2, labelLimit=230, title=None, symbolType="square", symbolStrokeWidth=0
    )
    scale = alt.Scale(domain=names["part"].to_list(), range=_colours(names["kind"].to_list()))
    tooltip = [
        alt.Tooltip("part:N"),
        alt.Tooltip("ms:Q", title="ms a call", format=".4~g"),
        alt.Tooltip("share:Q", title="share of the call", format=".1%"),
        alt.Tooltip("bar:N", title="compiler, share profiled"),
    ]
    divided = base.mark_bar(stroke="white", strokeWidth=0.3).encode(
        x=alt.X("ms:Q", title="ms a call", axis=alt.Axis(tickCount=5)),
        color=alt.Color("part:N", scale=scale, legend=legend),
        order="order:Q",
        tooltip=tooltip,
    )
    timed = base.mark_tick(thickness=2, size=STEP).encode(x="max(call_ms):Q")
    data = inlined(rows, "bar", "part", "order", "ms", "share", "call_ms")
    title = alt.Title(panel.title, fontSize=11, limit=WIDTH + 100)
    layers = alt.layer(divided, timed, data=data, title=title)
    sized: alt.LayerChart = layers.properties(width=WIDTH, height={"step": STEP})
    return without_hidden(sized)


def _rows(study: Study, panel: Panel) -> pl.DataFrame:
    """Return a row for each case and part of it, in the order of the bars and then of the parts."""
    titles = _titles(panel.parts)
    columns = pl.DataFrame(
        [
            {
                "case": case,
                "part": title,
                "kind": part.kind,
                "order": order,
                "ms": 1e3 * part.seconds[place],
                "call_ms": 1e3 * study.profiles[case].latency_s,
                "share": part.seconds[place] / study.profiles[case].latency_s,
                "coverage": round(100 * study.profiles[case].coverage),
            }
            for place, case in enumerate(panel.cases["case"])
            for order, (title, part) in enumerate(zip(titles, panel.parts, strict=True))
        ]
    )
    rows = panel.cases.join(columns, on="case", maintain_order="left")
    return rows.with_columns(bar=pl.format("{}  {} %", "compiler", "coverage"))


def _titles(parts: list[Part]) -> list[str]:
    """Return the names of parts as a legend shows them: short, and all different."""
    titles: list[str] = []
    for part in parts:
        short = title = fitting_name(titled(part.kind, part.name), LONGEST_NAME)
        numbers = count(2)
        while title in titles:
            title = f"{short} ({next(numbers)})"
        titles.append(title)
    return titles


def _colours(kinds: list[str]) -> list[str]:
    colours = iter(palette.in_order(sum(kind not in COLOURS for kind in kinds)))
    return [COLOURS.get(kind) or next(colours) for kind in kinds]
