"""Certificates for a cluster on this machine alone, made without being asked for.

Who else can log in to the machine cannot be known: directories such as LDAP need not list their users.
"""

from __future__ import annotations

import os
import pwd
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from pytest_ngraph.cluster import certificate, certs
from pytest_ngraph.cluster.roles import ROLES
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.files import state_folder

NAME = "localhost"
FIRST_PERSON, FIRST_PERSON_ON_MACOS = 1000, 501
"""The lowest user id of people, as in /etc/login.defs. Those of directories such as LDAP may have any number."""
SERVICES = range(61184, 65536)
"""User ids that systemd gives to services, and that of nobody."""
NO_SHELLS = ("nologin", "false", "sync", "")


def others() -> list[str]:
    """Return the names of the other people who can log in to this machine, as far as it lists its users."""
    first = FIRST_PERSON_ON_MACOS if sys.platform == "darwin" else FIRST_PERSON
    return sorted(
        user.pw_name
        for user in pwd.getpwall()
        if user.pw_uid >= first
        and user.pw_uid not in (os.getuid(), *SERVICES)
        and Path(user.pw_shell).name not in NO_SHELLS
    )


def folder() -> Path:
    """Return the folder of this user's own certificates, with `ca.pem`, `localhost.pem` and `localhost-key.pem`.

    They have all roles, and only this user can read the keys. They are made if they are missing or expire soon.

    Raises:
        UsageError: they cannot be made.
    """
    state = state_folder()
    try:
        return _made(state)
    except OSError as error:
        raise UsageError(
            f"certificates for a cluster on this machine cannot be made in {state}: {error.strerror}. Set "
            "XDG_STATE_HOME to a folder that can be written; or, if nobody else can log in to this machine, write "
            "tcp://localhost."
        ) from None


def _made(state: Path) -> Path:
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
        with suppress(UsageError):  # a service may not write there; until it has expired, the old one will do
            certs.issue(place, [NAME], ROLES)
    return place
