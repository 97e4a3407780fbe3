"""Certificates that are no longer valid: a list that the authority signs (RFC 5280), beside its certificate."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from pytest_ngraph.errors import UsageError

CRL = "crl.pem"


class Revoked:
    """The serial numbers in the list beside an authority's certificate, read again whenever the file changes.

    Args:
        ca: the authority's certificate.
    """

    def __init__(self, ca: Path) -> None:
        self._ca = ca
        self._path = ca.with_name(CRL)
        self._state: tuple[int, int] | None = None
        self._serials: frozenset[int] = frozenset()
        self.read()

    def has(self, serial: int) -> bool:
        """Return whether a certificate is revoked. A list that cannot be read leaves the last one in force."""
        with suppress(UsageError):
            self.read()
        return serial in self._serials

    def read(self) -> None:
        """Read the list if it has changed.

        Raises:
            UsageError: it cannot be read, or the authority has not signed it.
        """
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return
        if self._state == (found.st_mtime_ns, found.st_size):
            return
        self._serials = serials(self._path, self._ca)
        self._state = (found.st_mtime_ns, found.st_size)


def serials(path: Path, ca: Path) -> frozenset[int]:
    """Return the serial numbers of a list. Raises `UsageError` if it is not one that the authority has signed."""
    try:
        listed = x509.load_pem_x509_crl(path.read_bytes())
        key = x509.load_pem_x509_certificate(ca.read_bytes()).public_key()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the list of revoked certificates, {path}: {error}. Copy it again.") from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not listed.is_signature_valid(key):
        raise UsageError(f"{path} is not signed by the authority in {ca}. Copy both from one folder.")
    return frozenset(entry.serial_number for entry in listed)
