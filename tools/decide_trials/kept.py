"""Results by their names, and the file that keeps them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


class Kept:
    """Results by their names, each a line of a file once it is there.

    Args:
        file: None to keep them only in memory.
        parts: how many further results to make.
    """

    def __init__(self, file: Path | None = None, parts: float = float("inf")) -> None:
        self._file = file
        self._left = parts
        lines = file.read_text().splitlines(keepends=True) if file and file.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        if file and whole != lines:  # the last one was cut off
            file.write_text("".join(whole))
        self._found: dict[str, Any] = {one["name"]: one["result"] for one in map(json.loads, whole)}

    def get(self, make: Callable[[], Sequence[Any]], *names: object) -> Sequence[Any] | None:
        """Return a result, made now if it is not there; None where no further one is to be made."""
        name = " ".join(map(str, names))
        if name not in self._found:
            if self._left <= 0:
                return None
            self._left -= 1
            self._found[name] = list(make())
            print(f"{name}: {json.dumps(self._found[name])}", file=sys.stderr, flush=True)
            if self._file:
                with self._file.open("a") as file:
                    file.write(json.dumps({"name": name, "result": self._found[name]}) + "\n")
        found: Sequence[Any] = self._found[name]
        return found
