"""Keep the headers that Inductor precompiles from one session to the next: they are the same for every model.

Before its first model, Inductor compiles PyTorch's headers, which takes longer than most models do. It leaves them in
the temporary folder. A session has one of its own and removes it. A file's name is a digest of the header's text, the
compiler and its options, so that a kept one fits or is not found.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_ngraph.errors import NgraphError
from pytest_ngraph.system.files import user_folder

UNUSED_S = 30 * 24 * 3600
"""Headers that nobody has used for this long are removed: each version of PyTorch has its own."""


@contextmanager
def kept() -> Iterator[None]:
    """Have Inductor find the headers that are kept, and keep those that it compiles in this block, if that succeeds.

    A compiler that is killed leaves a part of a file, with which the next build fails.
    """
    from torch._inductor import codecache

    here = getattr(codecache, "_HEADER_DIR", None)  # PyTorch may rename it: it is not public
    if here is None:
        yield
        return
    with suppress(NgraphError, OSError):  # a user without a home, or a full disk: they are compiled again
        _copy(_kept_in(), Path(here))
    yield
    with suppress(NgraphError, OSError):
        _copy(Path(here), _kept_in())
        _remove_unused(_kept_in(), {file.name for file in _precompiled(Path(here))})


def _kept_in() -> Path:
    folder = user_folder() / "inductor-headers"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _precompiled(folder: Path) -> list[Path]:
    """Return the precompiled headers in a folder, without those that are being written, and without their sources."""
    return [file for file in folder.iterdir() if file.suffix in (".gch", ".pch")] if folder.is_dir() else []


def _copy(source: Path, target: Path) -> None:
    """Put the headers that the target lacks there, each completely or not at all: as links, or else as copies."""
    missing = [file for file in _precompiled(source) if not (target / file.name).exists()]
    if not missing:
        return
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=target) as scratch:
        for file in missing:
            staged = Path(scratch, file.name)
            try:
                staged.hardlink_to(file)  # two files of 150 MB, which nobody changes
            except OSError:  # another file system
                shutil.copyfile(file, staged)
            staged.rename(target / file.name)


def _remove_unused(folder: Path, used: set[str]) -> None:
    for file in _precompiled(folder):
        if file.name in used:
            os.utime(file)
        elif time.time() - file.stat().st_mtime > UNUSED_S:
            file.unlink()
