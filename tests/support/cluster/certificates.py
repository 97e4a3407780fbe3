"""Certificates for tests."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.cluster import certs
from pytest_ngraph.cluster.security import Credentials

NAME = "everyone"


def issued(folder: Path) -> Path:
    """Make an authority and a certificate in a folder, and return the folder."""
    certs.issue(folder, [NAME])
    return folder


def credentials_of(folder: Path) -> Credentials:
    return Credentials(ca=folder / certs.CA, cert=folder / f"{NAME}.pem", key=folder / f"{NAME}-key.pem")


def options_for(folder: Path) -> tuple[str, ...]:
    """Return the options that make a command use the folder's certificate."""
    files = credentials_of(folder)
    return (f"--tls-ca={files.ca}", f"--tls-cert={files.cert}", f"--tls-key={files.key}")
