"""The bench's remote half: cases to devices over Dask's distributed engine, which only this room imports.

On the client, from a session's groups to its records: `ondemand`, `site`, `remote`, `dispatch` (with `errands`),
`link` and `connection`; what travels: `localproject`, `files`, `project`. Between them and the devices: `scheduler`.

On a device, from joining to measuring: `device` (with `unit`), `task`, `resident`, `agentprocess`, and in a process
of its own `agent`; what it keeps: `devicefolder`, `projects`, `kept`.

On either side: `assignment` is what is asked for; `presence` and `remotehost` are what a device tells of itself;
`security` and `certs` say who may take part; `quiet` has the engine leave measurements alone.
"""

from __future__ import annotations

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.installed import is_importable

LIBRARIES = ("distributed", "cryptography")


def check_libraries() -> None:
    """Raise `UsageError` where a library of the cluster's is missing, with the command that installs it."""
    missing = [library for library in LIBRARIES if not is_importable(library)]
    if missing:
        raise UsageError(
            f'a cluster needs {" and ".join(missing)}, not installed here: pip install "pytest-ngraph[cluster]"'
        )
