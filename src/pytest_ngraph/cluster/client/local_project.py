"""The project under test: where it is on this machine, and its archive for devices."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_ngraph.case import Case
from pytest_ngraph.cluster.assignment import PLACE
from pytest_ngraph.cluster.project import Packed, pack
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.relocation import STANDARD_LIBRARY, moved, sent_path, with_paths


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalProject:
    """The project under test.

    Attributes:
        root: its top folder.
        folder: the current folder, relative to `root`.
        path: folders to import modules from, also relative to `root`, and `STANDARD_LIBRARY` among them.
        packed: its archive.
    """

    root: Path
    folder: str
    path: tuple[str, ...]
    packed: Packed

    @classmethod
    def read(
        cls, root: Path, leave_out: Collection[Path], send: Sequence[str] = (), rootdir: Path | None = None
    ) -> LocalProject:
        """Pack the project as it is now.

        Args:
            root: its top folder.
            leave_out: files and folders that are not packed.
            send: patterns of the files that are packed; without any, all.
            rootdir: pytest's root folder; `root` unless given.

        Raises:
            UsageError: the current folder is not in the project, or the project cannot be packed.
        """
        folder = Path(os.path.realpath(Path.cwd()))
        if not folder.is_relative_to(root):
            raise UsageError(f"the current folder, {folder}, is not in the project at {root}. Run pytest from there.")
        path = sent_path(sys.path, root, (folder, rootdir or root))
        return cls(
            root=root,
            folder=str(folder.relative_to(root)),
            path=tuple(each if each == STANDARD_LIBRARY else str(Path(each).relative_to(root)) for each in path),
            packed=pack(root, leave_out, send),
        )

    def away(self, case: Case) -> Case:
        """Return the case with `PLACE` instead of the project's folder in its paths, as it is sent."""
        return with_paths(case, lambda text: moved(text, self.root, PLACE))

    def home(self, path: str) -> str:
        """Return a path that a device sent, with the project's folder on this machine."""
        return moved(path, PLACE, self.root)
