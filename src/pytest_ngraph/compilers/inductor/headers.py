"""Keep the headers that Inductor precompiles from one session to the next: they are the same for every model.

Before its first model, Inductor compiles PyTorch's headers, which takes longer than most models do. It leaves them in
the temporary folder. A session has one of its own and removes it. A file's name is a digest of the header's text, the
compiler and its options, so that a kept one fits or is not found.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_ngraph.compilers.inductor.caching import keeping, kept_in
from pytest_ngraph.errors import NgraphError

KEPT = "inductor-headers"
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
    folder = Path(here)
    with keeping(KEPT, folder, _precompiled):  # two files of 150 MB
        yield
    with suppress(NgraphError, OSError):
        _remove_unused(kept_in(KEPT), {file.name for file in _precompiled(folder)})


def _precompiled(folder: Path) -> list[Path]:
    """Return the precompiled headers in a folder, without those that are being written, and without their sources."""
    return [file for file in folder.iterdir() if file.suffix in (".gch", ".pch")] if folder.is_dir() else []


def _remove_unused(folder: Path, used: set[str]) -> None:
    for file in _precompiled(folder):
        if file.name in used:
            os.utime(file)
        elif time.time() - file.stat().st_mtime > UNUSED_S:
            file.unlink()
