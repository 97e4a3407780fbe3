"""The compile cache: compiled artifacts, keyed by everything that their content depends on.

An entry is a folder named by its key. It holds the files that a compiler made, and `manifest.json` with their hashes
and the seconds that compiling took. What a compiler reads is known only once it has compiled, so the manifest also has
the digests of the user's own files that it read. An entry is used only while all of them are the same.

Compiled artifacts are code, so an entry is used only if this user owns it and nobody else can write to it.
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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_ngraph.machine import source_files
from pytest_ngraph.store import conforms
from pytest_ngraph.system.files import is_digest, sha256, size_bytes
from pytest_ngraph.worker.cold_start import ColdStart

MANIFEST = "manifest.json"
BUILDING = ".building-"
"""Prefix of an entry's name until it is complete."""
ABANDONED_S = 3600.0
"""An entry still incomplete after this was left by a killed process: copying takes seconds."""
RECENT_S = 86400.0
"""Entries used within this time may be of one sweep, which will need the oldest first: none is preferred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One compiled artifact in the cache.

    Attributes:
        key: name of the entry, the hash of `inputs`.
        folder: where its files are.
        compile_s: as in `record.Record`, like `convert_s` and `compile_cores`; None if it was compiled beside others.
        made_at: when it was compiled, in seconds since the epoch.
        inputs: everything that its content depends on.
        files: hashes of its files, by path relative to `folder`.
        read: digests of the user's own files that were read to compile it, by path.
    """

    key: str
    folder: Path
    compile_s: float | None
    made_at: float
    inputs: dict[str, Any]
    files: dict[str, str]
    read: dict[str, str] = field(default_factory=dict)
    convert_s: float | None = None
    compile_cores: int | None = None

    @property
    def cold_start(self) -> ColdStart:
        """What the cold start took in which it was compiled."""
        return ColdStart(self.convert_s, self.compile_s, self.compile_cores)

    @property
    def size_bytes(self) -> int:
        return sum(size_bytes(self.folder / name) for name in self.files)


class Cache:
    """A folder of entries, bounded in size.

    Evicts the least recently used entries; among those used within a day, random ones. With strict LRU, repeating a
    sweep larger than the cache would never hit.

    Args:
        needs_compile_s: whether entries count that lack the seconds that compiling took.

    Attributes:
        folder: where the entries are.
    """

    def __init__(self, folder: Path, limit_bytes: int = 10 * 2**30, *, needs_compile_s: bool = False) -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes
        self._needs_compile_s = needs_compile_s

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Cache:
        """Return the cache that `Settings.cache_to_dict` wrote."""
        return cls(**data | {"folder": Path(data["folder"])})

    @property
    def problem(self) -> str:
        """Why the folder is not used, and how to fix that; empty if it is used, or does not exist."""
        if not self.folder.exists() or _is_own(self.folder):
            return ""
        return (
            f"the compile cache {self.folder} belongs to another user, or others can write to it, so it is not used. "
            f"Change that (chmod go-w {shlex.quote(str(self.folder))}), or choose another folder."
        )

    def find(self, inputs: dict[str, Any]) -> Entry | None:
        """Return what was compiled from `inputs`. Its files may be damaged.

        Returns:
            The entry; None if there is none that this user owns and this cache counts, or if a file that was read to
            compile it has changed.
        """
        found = self._read(self.folder / key_of(inputs))
        if found is None or (self._needs_compile_s and found.compile_s is None):
            return None
        return found if source_files.digests(found.read) == found.read else None

    def take(self, inputs: dict[str, Any], into: Path) -> Entry | None:
        """Copy what was compiled from `inputs` into a folder. A damaged entry is removed.

        Returns:
            The entry; None if `find` finds none, or it is damaged.
        """
        found = self.find(inputs)
        if found is None:
            return None
        try:
            for name in found.files:
                (into / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found.folder / name, into / name)
            os.utime(found.folder)
            if all(sha256(into / name) == digest for name, digest in found.files.items()):
                return found
            self.discard(found.key)
        except OSError:  # another process has removed it, or the disk is full
            pass
        _empty(into)
        return None

    def keep(
        self, inputs: dict[str, Any], folder: Path, cold_start: ColdStart, read: Mapping[str, str] | None = None
    ) -> None:
        """Keep a copy of a folder that a compiler filled. On a full disk, nothing is kept.

        Args:
            cold_start: what the cold start took.
            read: digests of the user's own files that the compiler read, by path.
        """
        key = key_of(inputs)
        try:
            files = {
                str(path.relative_to(folder)): sha256(path) for path in sorted(folder.rglob("*")) if path.is_file()
            }
            manifest = {"inputs": inputs, **cold_start._asdict(), "made_at": time.time(), "files": files}
            manifest["read"] = dict(read or {})
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_own(self.folder):
                return  # nothing in it would be used
            building = Path(tempfile.mkdtemp(dir=self.folder, prefix=BUILDING))
            try:
                shutil.copytree(folder, building, dirs_exist_ok=True)
                building.chmod(0o700)  # `copytree` has given it the mode of `folder`
                (building / MANIFEST).write_text(json.dumps(manifest))
                self.discard(key)
                building.rename(self.folder / key)  # complete or not at all, even if two processes compile the same
            finally:
                shutil.rmtree(building, ignore_errors=True)
            self.bound()
        except OSError:  # the disk is full, or another process removes entries at the same time
            return

    def entries(self) -> list[Entry]:
        """Return all entries that this user owns, the least recently used first."""
        folders = sorted(self._folders(), key=_used_at)
        return [entry for folder in folders if (entry := self._read(folder)) is not None]

    def discard(self, key: str) -> None:
        """Remove one entry."""
        shutil.rmtree(self.folder / key, ignore_errors=True)

    def clear(self) -> None:
        """Remove every entry."""
        for folder in [*self._folders(), *self.folder.glob(f"{BUILDING}*")]:
            self.discard(folder.name)

    def bound(self) -> None:
        """Remove entries until the rest fits, and what a killed process left behind."""
        for folder in self.folder.glob(f"{BUILDING}*"):
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
        """Yield the folders of entries, whole or not. Whatever else lies in the user's folder is left alone."""
        if self.folder.is_dir():
            yield from (path for path in self.folder.iterdir() if is_digest(path.name) and path.is_dir())

    def _read(self, folder: Path) -> Entry | None:
        if not (_is_own(self.folder) and _is_own(folder)):
            return None
        try:
            manifest = json.loads((folder / MANIFEST).read_text())
            entry = Entry(key=folder.name, folder=folder, **manifest)
            whole = key_of(entry.inputs) == entry.key and all(_is_inside(folder, name) for name in entry.files)
            whole = whole and conforms(entry.read, dict[str, str])
        except (OSError, ValueError, TypeError, AttributeError):
            whole = False
        if not whole:
            self.discard(folder.name)
            return None
        return entry


def key_of(inputs: dict[str, Any]) -> str:
    """Return the name of the entry that is compiled from `inputs`."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def _is_own(folder: Path) -> bool:
    """Return whether the folder exists, this user owns it, and nobody else can write to it."""
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
    """Return when an entry was last used; 0 if another process has removed it."""
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0


def _is_inside(folder: Path, name: str) -> bool:
    path = folder / name
    return path.is_file() and not path.is_symlink() and path.resolve().is_relative_to(folder.resolve())


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
