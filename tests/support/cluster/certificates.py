"""Certificates for tests."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.cluster import certs
from pytest_ngraph.cluster.roles import ROLES
from pytest_ngraph.cluster.security import Credentials

NAME = "everyone"


def issued(folder: Path) -> Path:
    """Make an authority in a folder, a certificate with all roles and one for each role. Returns the folder."""
    certs.issue(folder, [NAME], ROLES)
    for role in ROLES:
        certs.issue(folder, [role], [role])
    return folder


def credentials_of(folder: Path, name: str = NAME) -> Credentials:
    return Credentials(ca=folder / certs.CA, cert=folder / f"{name}.pem", key=folder / f"{name}-key.pem")


def options_for(folder: Path, name: str = NAME) -> tuple[str, ...]:
    """Return the options that make a command use a certificate of the folder."""
    files = credentials_of(folder, name)
    return (f"--tls-ca={files.ca}", f"--tls-cert={files.cert}", f"--tls-key={files.key}")
