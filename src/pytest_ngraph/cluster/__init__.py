"""The bench's remote half: cases to devices over Dask's distributed engine, which only this room imports."""

from __future__ import annotations

from importlib.util import find_spec

from pytest_ngraph.errors import UsageError

LIBRARIES = ("distributed", "cryptography")


def check_libraries() -> None:
    """Raise `UsageError` where a library of the cluster's is missing, with the command that installs it."""
    missing = [library for library in LIBRARIES if find_spec(library) is None]
    if missing:
        raise UsageError(
            f'a cluster needs {" and ".join(missing)}, not installed here: pip install "pytest-ngraph[cluster]"'
        )
