"""Measures cases on other machines, the devices of a cluster, over Dask's distributed engine.

Only this room imports that engine. Groups of cases and the project under test enter; records leave. `client` is the
session that sends them, `device` the machine that measures, `scheduler` the head between both, which `connection`
reaches. `assignment` is what is asked of a device, `presence` what a device reports about itself; `project` and `files`
are what is sent. `audit` logs who ran what, `prometheus` exports how devices are. `security` and `certs` decide who may
take part, `issued` has which certificates there are; `guard` has what each may do, `registry` as whom connections are
registered, `resources` what devices offer. `engine_settings` keeps the engine from disturbing measurements, `topics`
keeps the head from collecting messages, `shares` is the order between clients, and `versions` names places with another
engine. Open `assignment` first, then `client/remote.py` and `device/task.py`.
"""

from __future__ import annotations

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.installed import lacking

NEEDED = ("distributed", "cryptography")


def check_libraries() -> None:
    """Raise `UsageError` if a library that clusters need is missing, with the command that installs it."""
    if missing := lacking(NEEDED):
        raise UsageError(
            f'a cluster needs {" and ".join(missing)}, not installed here: pip install "pytest-ngraph[cluster]"'
        )
