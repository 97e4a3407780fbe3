"""The libraries inside the page: Vega for figures, DataTables for sortable tables, and this package's own script."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from importlib.resources import files

import vl_convert


@cache
def charts() -> str:
    """Return Vega, Vega-Lite and Vega-Embed with `page.js`, as one script. Putting them together takes seconds."""
    return vl_convert.javascript_bundle(own("page.js"))


def sorting() -> str:
    """Return DataTables as a `data:` URL, which contains the whole module."""
    return (
        "data:text/javascript;base64," + b64encode(files("itables").joinpath("html/dt_bundle.js").read_bytes()).decode()
    )


def styles() -> str:
    """Return the style sheets of DataTables and of the page."""
    return files("itables").joinpath("html/dt_bundle.css").read_text(encoding="utf-8") + own("page.css")


def own(name: str) -> str:
    """Return a file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
