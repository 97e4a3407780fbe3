"""The page of a history: one file that a browser shows without a server or a network.

`contents` makes its data; `template.html` is its structure, `page.css` its style, and `page.js` draws a line for each
case, and a case's nights when it is opened.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from pytest_ngraph.errors import UsageError
from pytest_ngraph.history.index import Index
from pytest_ngraph.history.page.contents import contents
from pytest_ngraph.history.series import Series

NAME = "history.html"


def write(found: Sequence[Series], index: Index, folder: Path) -> Path:
    """Write the page into a folder, which is made if needed. Return the file. Raises `UsageError`."""
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(render(found, index), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}. Give another folder: -o DIR.") from None
    return path


def render(found: Sequence[Series], index: Index) -> str:
    """Return the page as HTML. What comes from the store is only in its JSON, in which no tag can begin."""
    data = json.dumps(contents(found, index), separators=(",", ":")).replace("<", "\\u003c")
    parts = {"style": _text("page.css"), "script": _text("page.js"), "data": data}
    text = _text("template.html")
    for name, part in parts.items():
        text = text.replace(f"/*{name}*/", part)
    return text


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
