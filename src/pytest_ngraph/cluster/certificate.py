"""One's own certificate: what it allows, and how long it is valid."""

from __future__ import annotations

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from pytest_ngraph.cluster.roles import MEANINGS, ROLES, SUFFICES, Role
from pytest_ngraph.errors import UsageError

EXPIRES_SOON = datetime.timedelta(days=30)


def roles(path: Path) -> list[str]:
    """Return the roles in a certificate."""
    units = _read(path).subject.get_attributes_for_oid(NameOID.ORGANIZATIONAL_UNIT_NAME)
    return [str(unit.value) for unit in units]


def name(path: Path) -> str:
    """Return the name in a certificate."""
    names = _read(path).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if names else ""


def check(path: Path, part: Role) -> None:
    """Raise `UsageError` if a certificate does not allow a role, or is no longer valid."""
    found = roles(path)
    if set(found).isdisjoint(SUFFICES[part]):
        given = f"is for {' and '.join(found)}" if set(found) & set(ROLES) else "names no role"
        raise UsageError(
            f"the certificate {path} {given}, but who {MEANINGS[part]} needs {' or '.join(SUFFICES[part])}. Issue one: "
            f"pytest-ngraph cluster certs DIR --for NAME --role {part}"
        )
    if _left(path) <= datetime.timedelta(0):
        raise UsageError(f"the certificate {path} expired on {_expiry(path):%Y-%m-%d}. {_again(path)}")


def expiry_warning(path: Path) -> str:
    """Return a warning if a certificate expires within `EXPIRES_SOON`, else an empty text."""
    left = _left(path)
    if left > EXPIRES_SOON:
        return ""
    return f"the certificate {path} expires on {_expiry(path):%Y-%m-%d}, in {left.days} days. {_again(path)}"


def expiry(certificate: x509.Certificate) -> datetime.datetime:
    """Return when a certificate expires."""
    return certificate.not_valid_after_utc


def _again(path: Path) -> str:
    command = f"pytest-ngraph cluster certs DIR --for {path.stem} --role {' '.join(roles(path))}"
    return f"Issue it again and restart what uses it: {command}"


def _left(path: Path) -> datetime.timedelta:
    return _expiry(path) - datetime.datetime.now(datetime.timezone.utc)


def _expiry(path: Path) -> datetime.datetime:
    return expiry(_read(path))


def _read(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the certificate {path}: {error}.") from None
