"""The look of all figures, except for the colours of compilers (`palette`)."""

from __future__ import annotations

from typing import Any

FONT = "system-ui, 'DejaVu Sans', 'Helvetica Neue', Arial, sans-serif"
SEQUENTIAL, DIVERGING = "cividis", "blueorange"
"""Colour schemes of cells; both are safe for colour-blind readers."""
FAINT = 0.15


def _config(ink: str, background: str) -> dict[str, Any]:
    texts = {
        "labelColor": ink,
        "titleColor": ink,
        "labelFontSize": 10,
        "titleFontSize": 10,
        "titleFontWeight": "normal",
    }
    return {
        "background": background,
        "font": FONT,
        "view": {"stroke": ink, "strokeOpacity": FAINT},
        "axis": {
            **texts,
            "domain": False,
            "gridColor": ink,
            "labelFlush": False,
            "gridOpacity": FAINT,
            "labelLimit": 420,
            "tickColor": ink,
            "tickOpacity": FAINT,
        },
        "header": {**texts, "labelFontSize": 11, "labelFontWeight": "bold", "labelLimit": 212},
        "legend": {**texts, "orient": "top", "columns": 6, "labelLimit": 260, "symbolOpacity": 1, "symbolSize": 60},
        "title": {"anchor": "start", "color": ink, "fontSize": 14, "subtitleColor": ink, "subtitleFontSize": 10},
        "rule": {"color": ink},
        "tick": {"color": ink},
        "text": {"color": ink, "fontSize": 9},
        "facet": {"spacing": 18},
    }


PRINTED = _config(ink="#222222", background="#ffffff")
"""Configuration for files."""
ON_PAGE = _config(ink="currentColor", background="transparent")
"""Configuration for the page, whose colours follow the reader's light or dark scheme."""
