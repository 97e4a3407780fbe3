"""One colour and one symbol for each compiler, the same in every figure, also for compilers that we do not know."""

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
"""Okabe and Ito's colours, and Paul Tol's where those end: both sets are made for the colour-blind."""
SPARE_COLOURS = ("#44aa99", "#882255", "#6699cc", "#997700", "#994455", "#88ccee", "#117733", "#cc6677")
SPARE_SYMBOLS = ("cross", "triangle-left", "triangle-right", "square", "diamond", "circle")
"""For compilers that are not known: each pair once, after which they repeat."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The looks of a study's compilers, identity first."""

    looks: dict[str, Look]

    @classmethod
    def of(cls, study: Study) -> Palette:
        """The palette of all compilers that the study has, whatever a figure shows of them."""
        frames = [study.cases["compiler"], study.before["compiler"]]
        return cls(looks(pl.concat(frames).drop_nulls().unique()))

    def colour(self, shown: pl.Series, field: str = "compiler") -> alt.Color:
        """The encoding of a column of compilers; its legend lists those shown."""
        names = self._shown(shown)
        scale = alt.Scale(domain=names, range=[self.looks[name][0] for name in names])
        return alt.Color(f"{field}:N", scale=scale, title="compiler")

    def symbol(self, shown: pl.Series, field: str = "compiler") -> alt.Shape:
        """As `colour`, for the symbols of points."""
        names = self._shown(shown)
        scale = alt.Scale(domain=names, range=[self.looks[name][1] for name in names])
        return alt.Shape(f"{field}:N", scale=scale, title="compiler")

    def _shown(self, shown: pl.Series) -> list[str]:
        present = set(shown)
        return [name for name in self.looks if name in present]


def looks(compilers: Iterable[str]) -> dict[str, Look]:
    """A look for every compiler. An unknown one starts from a colour that its name gives, so that it keeps it from
    report to report unless another unknown one has taken it."""
    names = sorted(set(compilers), key=lambda name: (name != IDENTITY, name))
    taken = {name: KNOWN[name] for name in names if name in KNOWN}
    for name in names:
        if name not in taken:
            candidates = list(_candidates(name))
            taken[name] = next((look for look in candidates if look not in taken.values()), candidates[0])
    return {name: taken[name] for name in names}


def _candidates(name: str) -> Iterator[Look]:
    first = zlib.crc32(name.encode())
    for symbol in SPARE_SYMBOLS:
        for step in range(len(SPARE_COLOURS)):
            yield SPARE_COLOURS[(first + step) % len(SPARE_COLOURS)], symbol
