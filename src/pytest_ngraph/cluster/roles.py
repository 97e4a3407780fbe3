"""Roles in a cluster, and the certificates that give them.

A role stands in the certificate's subject, as an organizational unit, so that `openssl x509 -subject` shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Role = Literal["head", "submit", "measure", "observe"]
ROLES: tuple[Role, ...] = get_args(Role)
MEANINGS: Mapping[Role, str] = {
    "head": "runs the scheduler",
    "submit": "has cases measured, and stops devices",
    "measure": "is a device",
    "observe": "lists devices",
}
SUFFICES: Mapping[Role, tuple[Role, ...]] = {
    "head": ("head",),
    "submit": ("submit",),
    "measure": ("measure",),
    "observe": ("observe", "submit"),
}
"""Which roles allow what each role is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The other end of a connection, as its certificate names it.

    Attributes:
        name: the certificate's common name.
        roles: what it may do.
        serial: the certificate's serial number.
    """

    name: str
    roles: frozenset[str]
    serial: int

    def may(self, role: Role) -> bool:
        return not self.roles.isdisjoint(SUFFICES[role])

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(sorted(self.roles)) or 'no role'})"


def peer(certificate: Mapping[str, Any]) -> Peer:
    """Return the holder of a certificate, which is given as `ssl.SSLSocket.getpeercert` returns it."""
    subject = [pair for names in certificate.get("subject", ()) for pair in names]
    names = [value for kind, value in subject if kind == "commonName"]
    roles = frozenset(value for kind, value in subject if kind == "organizationalUnitName")
    return Peer(name=names[0] if names else "", roles=roles, serial=int(certificate.get("serialNumber", "0"), 16))
