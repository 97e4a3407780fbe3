"""Certificates for a cluster on this machine alone, made without being asked for where others use the machine, too."""

from __future__ import annotations

import os
import pwd
import tempfile
from pathlib import Path

from pytest_ngraph.cluster import certificate, certs
from pytest_ngraph.cluster.roles import ROLES
from pytest_ngraph.system.files import state_folder

NAME = "localhost"
PEOPLE = range(1000, 60000)
"""User ids of people, as in /etc/login.defs; those of services are lower or higher."""
NO_SHELLS = ("nologin", "false", "sync", "")


def others() -> list[str]:
    """Return the names of the other people who can log in to this machine."""
    return sorted(
        user.pw_name
        for user in pwd.getpwall()
        if user.pw_uid in PEOPLE and user.pw_uid != os.getuid() and Path(user.pw_shell).name not in NO_SHELLS
    )


def folder() -> Path:
    """Return the folder of this user's own certificates, with `ca.pem`, `localhost.pem` and `localhost-key.pem`.

    They have all roles, and only this user can read the keys. They are made if they are missing or expire soon.
    """
    state = state_folder()
    place = state / "own-certificates"
    if not place.exists():
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=state, prefix=".own-certificates-") as unfinished:
            made = Path(unfinished) / "made"
            certs.issue(made, [NAME], ROLES)
            try:
                made.rename(place)
            except OSError:  # another process was quicker
                if not place.exists():
                    raise
    elif certificate.expiry_warning(place / f"{NAME}.pem"):
        certs.issue(place, [NAME], ROLES)
    return place
