"""Options for connecting to a cluster: certificates, `--insecure` and `--verbose`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ngraph.cluster.roles import Role
    from pytest_ngraph.cluster.security import Endpoint

FILES = {
    "ca": "the authority's certificate, ca.pem",
    "cert": "this machine's certificate, HOST.pem",
    "key": "this machine's key, HOST-key.pem",
}


def declare(parser: argparse.ArgumentParser) -> None:
    for name, help_ in FILES.items():
        parser.add_argument(f"--tls-{name}", metavar="FILE", help=help_)
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="allow a cluster without certificates beyond this machine: whoever reaches it runs code on every device",
    )
    parser.add_argument("--verbose", action="store_true", help="log what the distributed engine does")


def endpoint(parsed: argparse.Namespace, address: str, part: Role) -> Endpoint:
    """Return the scheduler's endpoint at this address, with the certificates given.

    Args:
        parsed: the options.
        address: the scheduler's.
        part: the role that this process takes.

    Raises:
        UsageError: the address or the certificates are not valid, or do not fit together.
    """
    from pytest_ngraph.cluster import certificate, security

    files = security.read_credentials(parsed.tls_ca, parsed.tls_cert, parsed.tls_key)
    found = security.endpoint(address, files, part=part, insecure=parsed.insecure)
    if files and (warning := certificate.expiry_warning(files.cert)):
        print(f"pytest-ngraph: {warning}", file=sys.stderr)
    return found


def as_typed(parsed: argparse.Namespace) -> list[str]:
    """Return the options as they would be typed again, with absolute paths."""
    given = {name: getattr(parsed, f"tls_{name}") for name in FILES}
    typed = [f"--tls-{name}={Path(path).expanduser().absolute()}" for name, path in given.items() if path]
    return typed + ["--insecure"] * parsed.insecure + ["--verbose"] * parsed.verbose
