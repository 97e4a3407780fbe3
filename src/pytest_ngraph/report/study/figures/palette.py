"""One colour and one symbol for each compiler, the same in every figure, also for unknown compilers."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import altair as alt
import polars as pl

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.report.study.data import Study

Look = tuple[str, str]
"""Colour and symbol."""

KNOWN: dict[str, Look] = {
    IDENTITY: ("#7f7f7f", "circle"),
    "executorch": ("#aa4499", "diamond"),
    "inductor": ("#cc79a7", "triangle-up"),
    "onnxruntime": ("#e69f00", "square"),
    "openvino": ("#0072b2", "circle"),
    "tensorrt": ("#d55e00", "triangle-down"),
    "tensorrt_rtx": ("#999933", "square"),
    "torchscript": ("#56b4e9", "diamond"),
    "tvm": ("#009e73", "triangle-up"),
}
"""The colours of Okabe and Ito, then those of Paul Tol: both sets are made for colour-blind readers."""
SPARE_COLOURS = ("#44aa99", "#882255", "#6699cc", "#997700", "#994455", "#88ccee", "#117733", "#cc6677")
SPARE_SYMBOLS = ("cross", "triangle-left", "triangle-right", "square", "diamond", "circle")
"""For unknown compilers: each pair is used once, then they repeat."""

RAINBOW = {
    3: "#d1bbd7", 5: "#ba8db4", 7: "#aa6f9e", 9: "#882e72", 10: "#1965b0", 12: "#5289c7", 14: "#7bafde", 15: "#4eb265",
    16: "#90c987", 17: "#cae0ab", 18: "#f7f056", 20: "#f6c141", 22: "#f1932d", 24: "#e8601c", 26: "#dc050c",
    28: "#72190e",
}  # fmt: skip
"""Paul Tol's discrete rainbow, by his numbers: an order that colour-blind readers see as well."""
LEFT_OUT = (5, 3, 7, 12, 16, 22, 24, 18, 10, 17, 26, 14, 20, 28, 9)
"""Which of them are left out for fewer parts, in this order: neighbours then differ as much as possible."""
LAYOUT_COLOUR, OTHERS_COLOUR, UNKNOWN_COLOUR, OUTSIDE_COLOUR = "#ff3ec9", "#cbbfa0", "#6e6e73", "#b5b5ba"
"""Layout changes, which must be seen; small parts together; and in grey what is not known."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours and symbols of a study's compilers, identity first."""

    looks: dict[str, Look]

    @classmethod
    def of(cls, study: Study) -> Palette:
        """Return the palette of all compilers of the study, even if a figure shows only some."""
        frames = [study.cases["compiler"], study.before["compiler"]]
        return cls(looks(pl.concat(frames).drop_nulls().unique()))

    def colour(self, shown: pl.Series, field: str = "compiler") -> alt.Color:
        """Return the colour encoding of a column of compilers; its legend lists those shown."""
        names = self._shown(shown)
        scale = alt.Scale(domain=names, range=[self.looks[name][0] for name in names])
        return alt.Color(f"{field}:N", scale=scale, title="compiler")

    def symbol(self, shown: pl.Series, field: str = "compiler") -> alt.Shape:
        """Return the encoding by symbols of points, like `colour`."""
        names = self._shown(shown)
        scale = alt.Scale(domain=names, range=[self.looks[name][1] for name in names])
        return alt.Shape(f"{field}:N", scale=scale, title="compiler")

    def _shown(self, shown: pl.Series) -> list[str]:
        present = set(shown)
        return [name for name in self.looks if name in present]


def looks(compilers: Iterable[str]) -> dict[str, Look]:
    """Return a look for every compiler.

    The first choice for an unknown compiler follows from its name, so it keeps its look from report to report unless
    another unknown compiler has taken it.
    """
    names = sorted(set(compilers), key=lambda name: (name != IDENTITY, name))
    taken = {name: KNOWN[name] for name in names if name in KNOWN}
    for name in names:
        if name not in taken:
            candidates = list(_candidates(name))
            taken[name] = next((look for look in candidates if look not in taken.values()), candidates[0])
    return {name: taken[name] for name in names}


def in_order(count: int) -> list[str]:
    """Return colours for parts in their order, at most as many as `RAINBOW` has."""
    left_out = LEFT_OUT[: len(RAINBOW) - count]
    return [colour for number, colour in RAINBOW.items() if number not in left_out][:count]


def _candidates(name: str) -> Iterator[Look]:
    first = zlib.crc32(name.encode())
    for symbol in SPARE_SYMBOLS:
        for step in range(len(SPARE_COLOURS)):
            yield SPARE_COLOURS[(first + step) % len(SPARE_COLOURS)], symbol
