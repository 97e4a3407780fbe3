"""Where a worker runs, and the message that sets it up there."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_ngraph.system.child import search_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where a worker runs; by default like this process.

    Attributes:
        python: its interpreter.
        folder: its working folder.
        path: its `sys.path`; for another interpreter, what that interpreter's own completes (`relocation.completed`).
        variables: environment variables that it has with other values than this process.
        own_path: where the working tree has its packages, of which no outdated copies may be imported; else empty.
    """

    python: str = sys.executable
    folder: Path | None = None
    path: Sequence[str] | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    own_path: Sequence[Path] = ()


OWN_HOME = Home()


def setup_of(home: Home, ahead: str = "") -> dict[str, Any]:
    """Return the message that sets a process up which runs in this home.

    Args:
        ahead: a compiler whose libraries it imports at once.
    """
    own = [entry or str(home.folder or Path.cwd()) for entry in search_path()]
    path = own if home.path is None else list(home.path)
    return {"path": path, "keep_own": home.python != sys.executable, "ahead": ahead}
