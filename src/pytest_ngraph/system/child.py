"""A module of this package as a process of its own."""

from __future__ import annotations

import sys

WITHOUT_FOLDER = "import sys; sys.path[:] = filter(None, sys.path)"
"""Takes the current folder from `sys.path`, where `-c` puts it first; Python 3.10 has no `-P`."""
RUN = f"{WITHOUT_FOLDER}; import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"


def command(python: str, module: str, *arguments: str) -> list[str]:
    """What `python -m MODULE` does, but that nothing is imported from the current folder: a user's `random.py` is not
    the standard library's."""
    return [python, "-c", RUN, module, *arguments]


def search_path() -> list[str]:
    """Where this process imports from, to be handed to a child: Python passes over entries that are no text."""
    return [entry for entry in sys.path if isinstance(entry, str)]
