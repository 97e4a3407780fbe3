"""The folder of a user's files that save work and can be made again."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_ngraph.errors import UsageError


def user_folder() -> Path:
    """Where it is. Raises `UsageError` for a user who has no home, as in some containers."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pytest-ngraph"
    except RuntimeError:
        raise UsageError(
            f"user {os.getuid()} has no home folder to keep caches in. Set XDG_CACHE_HOME to a folder of this user."
        ) from None


def compiled_folder() -> Path:
    """Where compiled artifacts are kept unless told otherwise."""
    return user_folder() / "compiled"
