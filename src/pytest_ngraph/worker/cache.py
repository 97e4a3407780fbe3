"""Compiled artifacts, kept by everything that they follow from.

An entry is a folder named by its key: the files that a compiler made, and `manifest.json` with their hashes and the
seconds that compiling took. What is compiled is code, so an entry counts only when this user owns it and nobody else
can write to it.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shlex
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
BUILDING = ".building-"
"""What the name of an entry begins with until it is whole."""
ABANDONED_S = 3600.0
"""After which what is still not whole was left by a process that was killed: copying takes seconds."""
RECENT_S = 86400.0
"""Within which one entry is as good as another: they may be of one sweep, which will need the oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What was compiled, from what, how long it took, and when. inputs: what the key was made of."""

    key: str
    folder: Path
    compile_s: float
    made_at: float
    inputs: dict[str, Any]
    files: dict[str, str]

    @property
    def size_bytes(self) -> int:
        return sum((self.folder / name).stat().st_size for name in self.files)


class Cache:
    """A folder of entries, bounded in size: the least recently used go first, and of those used within a day any. Of a
    sweep that is larger than the folder, the next one in the same order would find nothing if always the oldest went.
    """

    def __init__(self, folder: Path, limit_bytes: int = 10 * 2**30) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes

    @property
    def problem(self) -> str:
        """Why nothing that is in the folder counts, and what mends it; empty where it counts, or there is none."""
        if not self._folder.exists() or _is_own(self._folder):
            return ""
        return (
            f"{self._folder} is another user's, or others can write to it: nothing in it is used, and nothing is kept. "
            f"Mend it (chmod go-w {shlex.quote(str(self._folder))}), or take another folder."
        )

    def take(self, inputs: dict[str, Any], into: Path) -> Entry | None:
        """Copy what was compiled from `inputs` into a folder; None when there is no such entry, or none that is whole
        and this user's own. A damaged entry is removed."""
        found = self._read(self._folder / key_of(inputs))
        if found is None:
            return None
        try:
            for name in found.files:
                (into / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found.folder / name, into / name)
            os.utime(found.folder)
            if all(_hash(into / name) == digest for name, digest in found.files.items()):
                return found
            self.discard(found.key)
        except OSError:  # another process has removed it meanwhile, or the disk is full
            pass
        _empty(into)
        return None

    def keep(self, inputs: dict[str, Any], folder: Path, compile_s: float) -> None:
        """Keep what a compiler left in a folder. A full disk only means that nothing is kept."""
        key = key_of(inputs)
        try:
            files = {str(path.relative_to(folder)): _hash(path) for path in sorted(folder.rglob("*")) if path.is_file()}
            manifest = {"inputs": inputs, "compile_s": compile_s, "made_at": time.time(), "files": files}
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_own(self._folder):
                return  # nothing in it would count
            building = Path(tempfile.mkdtemp(dir=self._folder, prefix=BUILDING))
            try:
                shutil.copytree(folder, building, dirs_exist_ok=True)
                (building / MANIFEST).write_text(json.dumps(manifest))
                self.discard(key)
                building.rename(self._folder / key)  # whole or not at all, also when two processes compile the same
            finally:
                shutil.rmtree(building, ignore_errors=True)
            self._shrink()
        except OSError:  # or another process removes entries, too
            return

    def entries(self) -> list[Entry]:
        """All entries that are this user's own, the least recently used first."""
        folders = sorted(self._folders(), key=_used_at)
        return [entry for folder in folders if (entry := self._read(folder)) is not None]

    def discard(self, key: str) -> None:
        """Remove one entry."""
        shutil.rmtree(self._folder / key, ignore_errors=True)

    def clear(self) -> None:
        """Remove every entry."""
        for folder in [*self._folders(), *self._folder.glob(f"{BUILDING}*")]:
            self.discard(folder.name)

    def _shrink(self) -> None:
        for folder in self._folder.glob(f"{BUILDING}*"):
            if time.time() - _used_at(folder) > ABANDONED_S:
                self.discard(folder.name)
        recent = time.time() - RECENT_S
        entries = sorted(self.entries(), key=lambda entry: (min(_used_at(entry.folder), recent), random.random()))
        excess = sum(entry.size_bytes for entry in entries) - self._limit_bytes
        for entry in entries:
            if excess <= 0:
                return
            excess -= entry.size_bytes
            self.discard(entry.key)

    def _folders(self) -> Iterator[Path]:
        if self._folder.is_dir():
            yield from (path for path in self._folder.iterdir() if path.is_dir() and not path.name.startswith("."))

    def _read(self, folder: Path) -> Entry | None:
        if not (_is_own(self._folder) and _is_own(folder)):
            return None
        try:
            manifest = json.loads((folder / MANIFEST).read_text())
            entry = Entry(key=folder.name, folder=folder, **manifest)
            whole = key_of(entry.inputs) == entry.key and all(_is_inside(folder, name) for name in entry.files)
        except (OSError, ValueError, TypeError, AttributeError):
            whole = False
        if not whole:
            self.discard(folder.name)
            return None
        return entry


def key_of(inputs: dict[str, Any]) -> str:
    """The name under which what follows from `inputs` is kept."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def _is_own(folder: Path) -> bool:
    """Whether this user owns the folder, which is there, and nobody else can write to it."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _used_at(folder: Path) -> float:
    """When an entry was last used; 0 where another process has removed it meanwhile."""
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0


def _is_inside(folder: Path, name: str) -> bool:
    path = folder / name
    return path.is_file() and not path.is_symlink() and path.resolve().is_relative_to(folder.resolve())


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
