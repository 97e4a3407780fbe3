"""A private authority, the certificates that it issues with their roles, and those that it revokes."""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from pytest_ngraph.cluster import issued
from pytest_ngraph.cluster.certificate import expiry
from pytest_ngraph.cluster.issued import Issued
from pytest_ngraph.cluster.revocation import CRL, serials
from pytest_ngraph.cluster.roles import Role
from pytest_ngraph.errors import UsageError

CA, CA_KEY = "ca.pem", "ca-key.pem"
KEY_OF = "-key"
"""What the name of a key's file adds to that of its certificate."""
AUTHORITY_DAYS = 3650
CERTIFICATE_DAYS = 730
BOTH_ENDS = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
CLOCKS_DIFFER = datetime.timedelta(days=1)
"""Certificates are valid from this long ago on, for machines whose clock is behind."""


class Revocation(NamedTuple):
    """What was revoked.

    Attributes:
        path: the folder's list of revoked certificates.
        certificates: those that were added to it, or were on it already.
    """

    path: Path
    certificates: list[Issued]


def issue(folder: Path, names: Sequence[str], roles: Sequence[Role], passphrase: bytes | None = None) -> list[Path]:
    """Issue a certificate and a key for each name. Existing ones are replaced.

    Args:
        folder: holds the authority, which is made if there is none, and gets the certificates.
        names: host names or IP addresses.
        roles: what the holders of the certificates may do.
        passphrase: encrypts the authority's key; needed again whenever it is used.

    Returns:
        The files written. Only their owner can read the keys.

    Raises:
        UsageError: a name is not valid, the folder cannot be written or its authority cannot be read.
    """
    for name in names:
        _check_name(name)
        if name.endswith(KEY_OF):
            raise UsageError(
                f"{name!r} cannot have a certificate: its file would be that of the key of "
                f"{name.removesuffix(KEY_OF)!r}. Give another name."
            )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = [] if (folder / CA).exists() else _make_authority(folder, passphrase)
        authority = _Authority(folder, passphrase)
        return made + [path for name in names for path in authority.issue(name, roles)]
    except OSError as error:
        raise UsageError(f"cannot write certificates into {folder}: {error.strerror}. Give another folder.") from None


def revoke(folder: Path, names: Sequence[str], passphrase: bytes | None = None) -> Revocation:
    """Add all certificates of these names that are still valid to the folder's list of revoked ones.

    Returns:
        The list, and what is on it now of these names. A head reads it again whenever it changes; other machines need
        a copy beside their `ca.pem`.

    Raises:
        UsageError: a name has no certificate here, the folder cannot be written or its authority cannot be read.
    """
    authority = _Authority(folder, passphrase)
    added = [each for name in names for each in _issued(folder, name)]
    try:
        return Revocation(authority.revoke([each.serial for each in added]), added)
    except OSError as error:
        raise UsageError(f"cannot write {folder / CRL}: {error.strerror}.") from None


def _issued(folder: Path, name: str) -> list[Issued]:
    """Return every certificate of a name that is still valid. Raises `UsageError` if there is none."""
    _check_name(name)
    found = issued.unexpired(folder, name)
    try:
        newest = _newest(folder, name)
    except (OSError, ValueError) as error:
        if not found:
            raise UsageError(f"{name} has no certificate in {folder} that can be read: {error}.") from None
        return found
    return found if newest.serial in {each.serial for each in found} else [*found, newest]


def _newest(folder: Path, name: str) -> Issued:
    return issued.of(name, x509.load_pem_x509_certificate((folder / f"{name}.pem").read_bytes()))


def is_encrypted(folder: Path) -> bool:
    """Return whether the key of the folder's authority needs a passphrase."""
    try:
        return b"ENCRYPTED" in (folder / CA_KEY).read_bytes()
    except OSError:
        return False


class _Authority:
    """The authority of a folder. Raises `UsageError` if it cannot be read."""

    def __init__(self, folder: Path, passphrase: bytes | None) -> None:
        self._folder = folder
        try:
            self._certificate = x509.load_pem_x509_certificate((folder / CA).read_bytes())
            content = (folder / CA_KEY).read_bytes()
            key = serialization.load_pem_private_key(content, passphrase if is_encrypted(folder) else None)
        except (OSError, ValueError, TypeError) as error:
            hint = " Is the passphrase right?" if is_encrypted(folder) else ""
            raise UsageError(
                f"cannot read the authority in {folder}: {error}.{hint} Issue certificates where it was made, or make "
                "another in an empty folder."
            ) from None
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        self._key = key

    def revoke(self, added: Sequence[int]) -> Path:
        path = self._folder / CRL
        before = serials(path, self._folder / CA) if path.exists() else frozenset()
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self._certificate.subject)
            .last_update(now)
            .next_update(expiry(self._certificate))
        )
        for serial in sorted(before | set(added)):
            revoked = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now).build()
            builder = builder.add_revoked_certificate(revoked)
        _replace(path, builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        return path

    def issue(self, name: str, roles: Sequence[Role]) -> list[Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _valid(_named(name, roles), self._certificate.subject, key.public_key(), CERTIFICATE_DAYS)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([_alternative(name)]), critical=False)
            .add_extension(x509.ExtendedKeyUsage(BOTH_ENDS), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        for each in (*self._before(name), issued.of(name, certificate)):
            issued.note(self._folder, each)
        return _write(self._folder, f"{name}.pem", f"{name}{KEY_OF}.pem", certificate, key)

    def _before(self, name: str) -> list[Issued]:
        """Return the certificate that is replaced, if an earlier version has issued it and so has not noted it."""
        try:
            before = _newest(self._folder, name)
        except (OSError, ValueError):
            return []
        noted = {each.serial for each in issued.unexpired(self._folder, name)}
        return [] if before.serial in noted else [before]


def _make_authority(folder: Path, passphrase: bytes | None) -> list[Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _named("pytest-ngraph cluster")
    usage = dict.fromkeys(
        (
            "digital_signature",
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    certificate = (
        _valid(name, name, key.public_key(), AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _write(folder, CA, CA_KEY, certificate, key, passphrase)


def _valid(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCKS_DIFFER)
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _write(
    folder: Path,
    name: str,
    key_name: str,
    certificate: x509.Certificate,
    key: ec.EllipticCurvePrivateKey,
    passphrase: bytes | None = None,
) -> list[Path]:
    """Write both files, or leave those of before: on a full disk they are still valid."""
    written = [folder / name, folder / key_name]
    new = [path.with_suffix(".new") for path in written]
    try:
        new[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        new[1].unlink(missing_ok=True)  # an existing file may be readable by others
        descriptor = os.open(new[1], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_pem(key, passphrase))
        for place, path in zip(written, new, strict=True):
            path.replace(place)
    finally:
        for path in new:
            path.unlink(missing_ok=True)
    return written


def _replace(path: Path, content: bytes) -> None:
    """Write a file at once, since a head may read it at any time."""
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.replace(path)


def _pem(key: ec.EllipticCurvePrivateKey, passphrase: bytes | None) -> bytes:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    way = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    return key.private_bytes(encoding, form, way)


def _named(name: str, roles: Sequence[Role] = ()) -> x509.Name:
    units = [x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, role) for role in roles]
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name), *units])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,62}", name) or f"{name}.pem" in (CA, CA_KEY, CRL):
        raise UsageError(f"{name!r} is not the name of a host or device. Write it as head, orin-1 or 10.0.0.7.")
