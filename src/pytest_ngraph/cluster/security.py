"""Who may take part in a cluster: holders of a certificate, or, without certificates, processes on this machine."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pytest_ngraph.cluster import certificate, own_certificates
from pytest_ngraph.cluster.guard import Guard
from pytest_ngraph.cluster.guarded_comm import GuardedSecurity
from pytest_ngraph.cluster.revocation import Revoked
from pytest_ngraph.cluster.roles import Role
from pytest_ngraph.errors import UsageError

PORT = 8786
SCHEMES = ("tls", "tcp")
NAMED = 3
"""How many other people a message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """How messages spell options: the command's differ from those of pytest."""

    tls: str = "--tls"
    insecure: str = "--insecure"


COMMAND = Spelling()
CLIENT = Spelling(tls="--ngraph-tls", insecure="--ngraph-insecure-cluster")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Files in PEM format.

    Attributes:
        ca: the authority's certificate.
        cert: a certificate that it issued.
        key: the private key of that certificate.
    """

    ca: Path
    cert: Path
    key: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a scheduler is, and how to connect to it.

    Attributes:
        address: as the engine writes it: `tls://head:8786`.
        security: the engine's own settings for certificates, with the rules of this end.
        holder: the name in the certificate that was given; empty without one.
    """

    address: str
    security: GuardedSecurity
    holder: str = ""

    @property
    def host(self) -> str:
        return urlsplit(self.address).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or PORT

    @property
    def encrypted(self) -> bool:
        return self.address.startswith("tls:")


def read_credentials(
    ca: str | None, cert: str | None, key: str | None, spelling: Spelling = COMMAND
) -> Credentials | None:
    """Return the files as given, or None if none is given.

    Raises:
        UsageError: a file is missing, the three do not fit together, or others can read the key.
    """
    given = {"ca": ca, "cert": cert, "key": key}
    files = {name: Path(path).expanduser() for name, path in given.items() if path}
    if not files:
        return None
    if missing := [f"{spelling.tls}-{name}" for name in given if name not in files]:
        raise UsageError(f"certificates come as three files: also give {', '.join(missing)}.")
    for name, path in files.items():
        if not path.is_file():
            raise UsageError(
                f"{spelling.tls}-{name}={path}: there is no such file. pytest-ngraph cluster certs makes it."
            )
    if files["key"].stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"others can read the key {files['key']}. Run: chmod 600 {files['key']}")
    credentials = Credentials(**files)
    try:
        ssl.create_default_context(cafile=credentials.ca).load_cert_chain(
            credentials.cert, credentials.key, password=""
        )
    except OSError as error:
        raise UsageError(
            f"{credentials.ca}, {credentials.cert} and {credentials.key} do not fit together: {error}. "
            "Give files that pytest-ngraph cluster certs made in one folder."
        ) from None
    return credentials


def endpoint(
    address: str,
    credentials: Credentials | None,
    *,
    part: Role = "submit",
    insecure: bool = False,
    spelling: Spelling = COMMAND,
) -> Endpoint:
    """Return the endpoint of a scheduler's address.

    Args:
        address: host, with or without a scheme and a port. Without a scheme it is `tls` if there are credentials, or if
            it is this machine; else `tcp`. Without a port it is 8786.
        credentials: the certificates, if any.
        part: the role that this process takes; its certificate has to allow that.
        insecure: allow an unencrypted address of another machine.
        spelling: how messages spell the options.

    Raises:
        UsageError: the address is not valid, does not fit the credentials, or is not encrypted and not allowed; or the
            certificate does not allow the role.
    """
    holder = certificate.name(credentials.cert) if credentials else ""
    if credentials is None and not insecure:
        credentials = _own(address)
    scheme, host, port = _split(address, default="tls" if credentials else "tcp")
    place = f"{in_address(host)}:{port}"
    if scheme == "tls" and credentials is None:
        raise UsageError(
            f"tls://{place} asks for a certificate: give {spelling.tls}-ca, {spelling.tls}-cert and "
            f"{spelling.tls}-key. pytest-ngraph cluster certs makes them."
        )
    if scheme == "tcp" and credentials is not None:
        raise UsageError(f"tcp://{place} is not encrypted and takes no certificate. Write tls://{place}.")
    if credentials is None and not insecure:
        refuse_open(f"tcp://{place}", host, spelling)
    if credentials is not None:
        certificate.check(credentials.cert, part)
    return Endpoint(address=f"{scheme}://{place}", security=_security(credentials, part), holder=holder)


def refuse_open(place: str, host: str, spelling: Spelling = COMMAND) -> None:
    """Raise `UsageError` if other machines or people can reach this place, which is not encrypted."""
    if is_loopback(host):
        if people := own_certificates.others():
            raise UsageError(
                f"{place} is not encrypted and does not check who connects, and others use this machine "
                f"({', '.join(people[:NAMED])}): they could run code as you. Leave out tcp://: then your own "
                f"certificates are used. Or give {spelling.insecure}."
            )
    else:
        raise UsageError(
            f"{place} is not encrypted and does not check who connects: whoever reaches it can run code as you, on "
            "every device of the cluster. pytest-ngraph cluster certs makes certificates; on a network where everybody "
            f"may do that, give {spelling.insecure}."
        )


def in_address(host: str) -> str:
    """Return a host as it stands in an address: one of IPv6 is in brackets there, which it may have already."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def is_loopback(host: str) -> bool:
    """Return whether a host name or address, also one in brackets, means this machine, reachable from no other."""
    host = host.strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return all(ipaddress.ip_address(each).is_loopback for each in found)


def _own(address: str) -> Credentials | None:
    """Return the user's own certificates, for a place on this machine, unless it is to do without; else None."""
    scheme, host, _ = _split(address, default="")
    if scheme == "tcp" or not is_loopback(host):
        return None
    folder, name = own_certificates.folder(), own_certificates.NAME
    return Credentials(ca=folder / "ca.pem", cert=folder / f"{name}.pem", key=folder / f"{name}-key.pem")


def _split(address: str, default: str) -> tuple[str, str, int]:
    """Return scheme, host and port."""
    text = address if "://" in address else f"{default or SCHEMES[0]}://{address}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in SCHEMES or not parts.hostname or parts.path or parts.username:
        raise UsageError(f"{address!r} is not the address of a scheduler. Write it as tls://head:{PORT}.")
    scheme = parts.scheme if "://" in address else default
    return scheme, parts.hostname, PORT if port is None else port


def _security(credentials: Credentials | None, part: Role) -> GuardedSecurity:
    """Return the engine's settings. Every part of the cluster shows a certificate and asks for one."""
    if credentials is None:
        return GuardedSecurity(Guard(part, None), require_encryption=False)
    shown = {f"tls_{role}_cert": str(credentials.cert) for role in ("client", "scheduler", "worker")}
    keys = {f"tls_{role}_key": str(credentials.key) for role in ("client", "scheduler", "worker")}
    guard = Guard(part, Revoked(credentials.ca))
    return GuardedSecurity(guard, require_encryption=True, tls_ca_file=str(credentials.ca), **shown, **keys)
