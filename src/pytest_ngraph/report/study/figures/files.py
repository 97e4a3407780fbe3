"""Figures as files: SVG, PNG and PDF."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import vl_convert

from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.theme import PRINTED

ENDINGS = ("svg", "png", "pdf")
PIXELS_PER_POINT = 2.0
LINE = 110
"""Maximum number of characters in a line of the note below a title."""


def write(figures: Iterable[Figure], folder: Path) -> list[Path]:
    """Write each figure that has data, in every format. Return the files.

    Those of a figure without data, which an earlier report had, are removed.
    """
    written = []
    for figure in figures:
        if figure.chart is not None:
            written += write_one(figure, folder)
        else:
            for path in _files(figure, folder):
                path.unlink(missing_ok=True)
    return written


def write_one(figure: Figure, folder: Path) -> list[Path]:
    """Write a figure, which must have data, in every format. Return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    svg, png, pdf = files = _files(figure, folder)
    drawing = vl_convert.vegalite_to_svg(_titled(figure))
    svg.write_text(drawing, encoding="utf-8")
    png.write_bytes(vl_convert.svg_to_png(drawing, scale=PIXELS_PER_POINT))
    pdf.write_bytes(vl_convert.svg_to_pdf(drawing))
    return files


def _files(figure: Figure, folder: Path) -> list[Path]:
    return [folder / f"{figure.name}.{ending}" for ending in ENDINGS]


def _titled(figure: Figure) -> dict[str, Any]:
    """Return the specification with heading and note, because a file has no page around it."""
    note = textwrap.wrap(f"{figure.note} {figure.left_out}", LINE)
    return figure.spec(PRINTED) | {"title": {"text": figure.heading, "subtitle": note}}
