"""The bench's remote half: cases to devices over Dask's distributed engine, which only this room imports."""

from __future__ import annotations

from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine import is_importable

LIBRARIES = ("distributed", "cryptography")


def check_libraries() -> None:
    """Raise `UsageError` where a library of the cluster's is missing, with the command that installs it."""
    missing = [library for library in LIBRARIES if not is_importable(library)]
    if missing:
        raise UsageError(
            f'a cluster needs {" and ".join(missing)}, not installed here: pip install "pytest-ngraph[cluster]"'
        )
