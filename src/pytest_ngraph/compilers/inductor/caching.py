"""The folder that Inductor caches in, and what is kept of it for other models and sessions."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_ngraph.errors import NgraphError
from pytest_ngraph.system.files import user_folder

CACHE, TRITON_CACHE = "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"


@contextmanager
def caching_in(folder: Path) -> Iterator[None]:
    """Make Inductor and Triton cache in this folder: they read the environment variables at every use.

    Where Triton's is not set, Inductor sets it to a folder of the first model, for the life of the process.
    """
    folders = {CACHE: str(folder), TRITON_CACHE: str(folder / "triton")}
    before = {name: os.environ.get(name) for name in folders}
    os.environ.update(folders)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def kept_in(name: str) -> Path:
    """Return a folder of this user in which files are kept from one session to the next.

    Raises:
        UsageError: the user has no home.
        OSError: the folder cannot be made.
    """
    folder = user_folder() / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


@contextmanager
def keeping(name: str, here: Path, find: Callable[[Path], Iterable[Path]]) -> Iterator[None]:
    """Put what is kept under a name into a folder, and keep what this block adds there, if it succeeds.

    A user without a home, or a full disk, keeps nothing.

    Args:
        find: returns the files of a folder that are kept: complete ones.
    """
    with suppress(NgraphError, OSError):
        _copy_missing(find(kept_in(name)), kept_in(name), here)
    yield
    with suppress(NgraphError, OSError):
        _copy_missing(find(here), here, kept_in(name))


def _copy_missing(files: Iterable[Path], source: Path, target: Path) -> None:
    """Put files of one folder that another lacks at the same place there: as links, or else as copies.

    Each is put there completely or not at all. Nobody changes one.
    """
    missing = [path for path in (file.relative_to(source) for file in files) if not (target / path).exists()]
    if not missing:
        return
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=target) as scratch:
        for path in missing:
            staged = Path(scratch, path.name)
            try:
                staged.hardlink_to(source / path)
            except OSError:  # another file system
                shutil.copyfile(source / path, staged)
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            staged.rename(target / path)
