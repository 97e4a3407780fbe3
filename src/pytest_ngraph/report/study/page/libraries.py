"""The libraries that the page carries: Vega for figures, DataTables for sortable tables, and our lines between them."""

from __future__ import annotations

from base64 import b64encode
from importlib.resources import files

import vl_convert


def charts() -> str:
    """Vega, Vega-Lite and Vega-Embed with `page.js`, as one script."""
    return vl_convert.javascript_bundle(_own("page.js"))


def sorting() -> str:
    """DataTables as the address of a module that contains itself."""
    return (
        "data:text/javascript;base64," + b64encode(files("itables").joinpath("html/dt_bundle.js").read_bytes()).decode()
    )


def styles() -> str:
    """The style sheets of DataTables and of the page."""
    return files("itables").joinpath("html/dt_bundle.css").read_text(encoding="utf-8") + _own("page.css")


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
