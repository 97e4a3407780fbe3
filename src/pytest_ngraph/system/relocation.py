"""A folder and its copy elsewhere: what names a place in the one, names the same place in the other."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

from pytest_ngraph.case import Case


def moved(text: str, source: Path, target: Path) -> str:
    """An absolute path below `source` as the same path below `target`; any other text as it is.

    source: its links resolved. What follows `::` in the text stays.
    """
    path, colons, rest = text.partition("::")
    if not os.path.isabs(path):  # noqa: PTH117 (a text)
        return text
    place = Path(os.path.realpath(path))
    return f"{target / place.relative_to(source)}{colons}{rest}" if place.is_relative_to(source) else text


def with_paths(case: Case, move: Callable[[str], str]) -> Case:
    """The case with `move` applied to the texts in it that may be paths."""
    model_args = tuple((name, move(value) if isinstance(value, str) else value) for name, value in case.model_args)
    return dataclasses.replace(case, workload=move(case.workload), model_args=model_args)
