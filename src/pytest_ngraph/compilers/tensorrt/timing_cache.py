"""Keep the time of each kernel on this device between builds.

Builds that share these times choose the same kernels: two revisions of a model then differ by what was changed in it,
not by which of two kernels won a close race. Every build after the first is also several times faster.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_ngraph.compilers.tensorrt.library import Library
from pytest_ngraph.errors import StoreError
from pytest_ngraph.system.files import user_folder, write_whole


def path(lib: Library, device: str) -> Path:
    """Return the file for this device and version. Its times are valid for no other."""
    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{lib.name} {lib.version} {device}")
    return user_folder() / f"{name}.timing"


def restore(lib: Library, config: Any, file: Path) -> bool:
    """Set the times in the file on the build's configuration. Return whether it took any.

    The build starts without times where there are none, or where TensorRT refuses them: they are of another driver, or
    damaged.
    """
    found = file.read_bytes() if file.is_file() else b""
    times = config.create_timing_cache(found)
    if times is not None and config.set_timing_cache(times, ignore_mismatch=False):
        return bool(found)
    empty = lib.require(config.create_timing_cache(b""), "create a timing cache")
    lib.require(config.set_timing_cache(empty, ignore_mismatch=False), "use an empty timing cache")
    return False


def save(lib: Library, config: Any, file: Path) -> None:
    """Write the times that the build ended with. If they cannot be written, the next build takes longer.

    Only whole files are written, because other processes also read and write this one.
    """
    times = lib.require(config.get_timing_cache(), "hand out its timing cache")
    data = bytes(lib.require(times.serialize(), "write its timing cache"))
    with suppress(StoreError):
        write_whole(file, data)
