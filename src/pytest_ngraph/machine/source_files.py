"""The user's own files that a workload is built from: code, weights, tables, ONNX files."""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pytest_ngraph.system.installed import PACKAGE_FOLDER
from pytest_ngraph.system.relocation import INSTALLED

SYSTEM = ("/proc", "/sys", "/dev", "/etc")
COMPILED = (".pyc", ".so", ".pyd")


class FilesRead:
    """Notes the files that Python opens for reading.

    It does so until the process ends, because an audit hook cannot be removed. It does not see files that a native
    library opens by itself.
    """

    def __init__(self) -> None:
        self._opened: set[str] = set()
        self._lasting: set[str] = set()
        self._written: set[str] = set()
        self._modules: set[str] = set()
        sys.addaudithook(self._note)

    def begin(self) -> None:
        """Forget the files opened so far, except those read while importing the user's modules.

        A module reads a file once, but everything built from that module later depends on the file.
        """
        self._opened.clear()
        self._modules = set(_modules())

    def digests(self) -> dict[str, str]:
        """Return the digests, by path, of the user's own files that were opened since `begin`.

        They include the user's imported modules, and the files that were opened while these were imported.
        """
        modules = set(_modules())
        if any(is_own(os.path.realpath(module)) for module in modules - self._modules):
            self._lasting |= self._opened
        found = {os.path.realpath(path) for path in {*self._lasting, *self._opened, *modules} - self._written}
        return digests(sorted(path for path in found if is_own(path)))

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not isinstance(arguments[0], str | os.PathLike):
            return
        path, _, flags = arguments
        written = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        (self._written if written else self._opened).add(os.path.abspath(path))  # noqa: PTH100 (runs at every open)


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


def _modules() -> Iterator[str]:
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str):
            yield file


def is_own(path: str) -> bool:
    """Return whether a file is the user's: not the system's, not a library's, and not made by us."""
    is_foreign = path.startswith(_foreign()) or not INSTALLED.isdisjoint(Path(path).parts)
    return not is_foreign and not path.endswith(COMPILED) and Path(path).is_file()


@cache
def _foreign() -> tuple[str, ...]:
    """Return folders that are not the user's: libraries, known by their versions, and what changes by itself."""
    installed = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    own = str(PACKAGE_FOLDER)
    # Only the installed parts of the interpreter's prefix: that may be /usr, and a project may be in /usr/src.
    prefixes = [f"{sys.base_prefix}/{name}" for name in ("bin", "include", "lib", "lib64", "share")]
    environment = [sys.prefix] if sys.prefix != sys.base_prefix else []
    places = (*installed, *prefixes, *environment, own, tempfile.gettempdir())
    real = (os.path.realpath(place) for place in places)
    return tuple(f"{place}{os.sep}" for place in (*real, *SYSTEM) if place != os.sep)


@cache
def _file_digest(path: str, size: int, modified_ns: int) -> str:
    """Return the digest of one state of a file, which size and time identify, so that each state is read once."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:16]
