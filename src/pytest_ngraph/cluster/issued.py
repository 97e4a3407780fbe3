"""What an authority has issued: an index that only grows, because a certificate that was replaced is still valid."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cryptography import x509

from pytest_ngraph.cluster.certificate import expiry
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.files import append

INDEX = "issued.jsonl"


class Issued(NamedTuple):
    """A certificate that an authority has issued."""

    name: str
    serial: int
    expires: datetime.datetime

    def __str__(self) -> str:
        return f"{self.name}: serial {self.serial:X}, valid until {self.expires:%Y-%m-%d}"


def of(name: str, certificate: x509.Certificate) -> Issued:
    """Return the entry of a name's certificate."""
    return Issued(name, certificate.serial_number, expiry(certificate))


def note(folder: Path, entry: Issued) -> None:
    """Add a certificate to the folder's index, before anybody has it. Raises `OSError`."""
    data = {"name": entry.name, "serial": f"{entry.serial:X}", "expires": entry.expires.isoformat()}
    append(folder / INDEX, json.dumps(data))


def unexpired(folder: Path, name: str) -> list[Issued]:
    """Return what a folder's authority has issued for a name and is still valid. Raises `UsageError`."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return [each for each in _index(folder / INDEX) if each.name == name and each.expires > now]


def _index(path: Path) -> Iterator[Issued]:
    """Yield the entries of an index; none if there is no index, as in folders of earlier versions."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read what was issued, {path}: {error}.") from None
    for number, line in enumerate(lines, 1):
        try:
            data = json.loads(line)
            yield Issued(data["name"], int(data["serial"], 16), datetime.datetime.fromisoformat(data["expires"]))
        except (ValueError, LookupError, TypeError) as error:
            raise UsageError(
                f"line {number} of {path} cannot be read ({type(error).__name__}: {error}), so that it is not known "
                "which certificate it is about. Mend it, or remove it."
            ) from None
