"""The project under test, as it lies here and as it travels."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pytest_ngraph.case import Case
from pytest_ngraph.cluster.assignment import PLACE
from pytest_ngraph.cluster.project import Packed, pack
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.relocation import moved, project_path, with_paths


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalProject:
    """root: its top folder. folder: the current one, relative to it. path: where modules are looked for, likewise."""

    root: Path
    folder: str
    path: tuple[str, ...]
    packed: Packed

    @classmethod
    def read(cls, root: Path, leave_out: Collection[Path]) -> LocalProject:
        """The project as it is now. leave_out: what stays here. Raises `UsageError` for one that cannot travel."""
        folder = Path(os.path.realpath(Path.cwd()))
        if not folder.is_relative_to(root):
            raise UsageError(f"the current folder, {folder}, is not in the project at {root}. Run pytest from there.")
        entries = [str(entry.relative_to(root)) for entry in project_path(sys.path, root)]
        return cls(
            root=root,
            folder=str(folder.relative_to(root)),
            path=tuple(dict.fromkeys(entries)),
            packed=pack(root, leave_out),
        )

    def away(self, case: Case) -> Case:
        """The case as it travels: its paths in the project are those of no machine."""
        return with_paths(case, lambda text: moved(text, self.root, PLACE))

    def home(self, path: str) -> str:
        """A path that came back, as it is here."""
        return moved(path, PLACE, self.root)
