"""The user's own files that a workload or a compiler is made of: code, shared objects, weights, tables, ONNX files."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pytest_ngraph.errors import NgraphError
from pytest_ngraph.system.files import resolved_code, sha256, user_folder
from pytest_ngraph.system.installed import PACKAGE_FOLDER
from pytest_ngraph.system.relocation import IN_ENVIRONMENT

SYSTEM = (
    *("/proc", "/sys", "/dev", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64"),
    *("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec"),
)
INSTALLED_PARTS = ("bin", "include", "lib", "lib64", "share")
"""Folders of an interpreter's prefix, or of a virtual environment, that hold what is installed."""
BYTECODE = ".pyc"
MAPPED = Path("/proc/self/maps")
"""What is in this process's memory, a line for each part; the sixth field is the file that it comes from."""


class FilesRead:
    """Notes the files that this process reads: those that Python opens or runs, modules, and shared objects.

    It does so until the process ends, because an audit hook cannot be removed. It does not see other files that a
    native library opens by itself, nor what a process that it starts reads.
    """

    def __init__(self) -> None:
        self._what = ""
        self._of: dict[str, set[str]] = defaultdict(set)
        self._opened: set[str] = set()
        self._lasting: set[str] = set()
        self._written: set[str] = set()
        self._known: set[str] = set()
        _foreign()  # imports something, which a compiler that changes `sys.path` would prevent later
        sys.addaudithook(self._note)

    def begin(self, what: str) -> None:
        """Forget the files opened so far, except those read while importing the user's modules, and for this before.

        A module reads a file once, but everything built from that module later depends on the file. A function may
        keep what it has read, too.

        Args:
            what: name of what is built from the files that are opened from now on.
        """
        self.keep_imported()
        self._of[self._what] |= self._opened
        self._what = what
        self._opened = set(self._of[what])

    def digests(self, ignored: Path | None = None) -> dict[str, str]:
        """Return the digests, by path, of the user's own files that were opened since `begin`.

        They include the user's imported modules, the shared objects in memory, and the files that were opened while
        the modules were imported.

        Args:
            ignored: a folder whose files do not count.
        """
        self.keep_imported()
        noted = (self._lasting | self._opened) - self._written
        return _of_user(noted | _own_code(), ignored)

    def keep_imported(self) -> None:
        """Keep what was opened so far if one of the user's own modules was imported with it."""
        for noted in (self._opened, self._written):  # a long session opens many files of nobody
            noted.intersection_update([path for path in list(noted) if not _is_foreign(path)])
        modules = _own_modules()
        if modules - self._known:
            self._lasting |= self._opened
        self._known |= modules

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | os.PathLike):
            path, _, flags = arguments
            written = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            (self._written if written else self._opened).add(os.path.abspath(path))  # noqa: PTH100 (at every open)
        elif event == "subprocess.Popen" and (program := shutil.which(os.fsdecode(arguments[0]))):
            self._opened.add(os.path.abspath(program))  # noqa: PTH100


@cache
def of_this_process() -> FilesRead:
    """Return what notes the files that this process reads, from the first call on."""
    return FilesRead()


@cache
def code_at_start() -> dict[str, str]:
    """Return the digests of the user's own modules and shared objects that this process has at the first call."""
    return _of_user(_own_code())


def digests(paths: Iterable[str]) -> dict[str, str]:
    """Return the current digests of these files, by path; empty for a file that is gone."""
    return {path: file_digest(path) for path in paths}


def file_digest(path: str) -> str:
    """Return the first 16 digits of a file's SHA-256; empty if it cannot be read."""
    try:
        status = Path(path).stat()
        return _file_digest(path, status.st_size, status.st_mtime_ns)
    except OSError:
        return ""


def _of_user(paths: Iterable[str], ignored: Path | None = None) -> dict[str, str]:
    """Return the digests of those of these files that are the user's own, by path with its links resolved."""
    without = f"{os.path.realpath(ignored)}{os.sep}" if ignored else None
    found = {os.path.realpath(path) for path in paths if not _is_foreign(path)}
    return digests(
        path for path in sorted(found) if Path(path).is_file() and not (without and path.startswith(without))
    )


def is_own(path: str) -> bool:
    """Return whether a file is the user's: not the system's, not a library's, and not made by us."""
    return not _is_foreign(path) and Path(path).is_file()


def _own_code() -> set[str]:
    """Return the files of the user's own modules, and the user's own shared objects in memory."""
    mapped: set[str] = set()
    with suppress(OSError):  # only Linux has this file
        lines = MAPPED.read_text(errors="replace").splitlines()
        mapped.update(line.split(maxsplit=5)[-1] for line in lines if " r-xp " in line and "/" in line)
    return {path for path in mapped if not _is_foreign_code(path)} | _own_modules()


def _own_modules() -> frozenset[str]:
    """Return the files of the user's own modules."""
    return _own_among(len(sys.modules), next(reversed(sys.modules), ""))


@lru_cache(maxsize=1)
def _own_among(count: int, last: str) -> frozenset[str]:
    """Return the files of the user's own modules, looked at again only when something was imported.

    Args:
        count: how many modules there are.
        last: the one that was imported last.
    """
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return frozenset(file for file in files if isinstance(file, str) and not _is_foreign_code(file))


def _is_foreign(path: str) -> bool:
    """Return whether a file is not the user's own: the system's, a library's, bytecode, or made by us."""
    return _is_foreign_at(os.path.realpath(path))


@cache
def _is_foreign_code(path: str) -> bool:
    """The same for code: thousands of modules, which are looked at again and again."""
    return _is_foreign_at(resolved_code(path))


def _is_foreign_at(real: str) -> bool:
    return real.startswith(_foreign()) or real.endswith(BYTECODE) or IN_ENVIRONMENT.fullmatch(real) is not None


@cache
def _foreign() -> tuple[str, ...]:
    """Return folders that are not the user's: libraries, known by their versions, and what changes by itself."""
    installed = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    own = [str(PACKAGE_FOLDER)]
    with suppress(NgraphError):  # a user without a home has no caches
        own.append(str(user_folder()))
    # Only the installed parts of a prefix: it may be /usr with a project in /usr/src, or the project's own folder.
    parts = [f"{prefix}/{name}" for prefix in (sys.base_prefix, sys.prefix) for name in INSTALLED_PARTS]
    places = (*installed, *parts, *own, tempfile.gettempdir())
    real = (os.path.realpath(place) for place in places)
    return tuple(f"{place}{os.sep}" for place in (*real, *SYSTEM) if place != os.sep)


@cache
def _file_digest(path: str, size: int, modified_ns: int) -> str:
    """Return the digest of one state of a file, which size and time identify, so that each state is read once."""
    return sha256(Path(path))[:16]
