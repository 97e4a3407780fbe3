"""`pytest-ngraph cluster`: runs a cluster's scheduler, makes certificates for its machines, and revokes them."""

from __future__ import annotations

import argparse
import getpass
import os
import socket
from functools import partial
from pathlib import Path
from typing import Any

from pytest_ngraph.cli import credentials
from pytest_ngraph.cli.arguments import path
from pytest_ngraph.cluster import check_libraries
from pytest_ngraph.cluster.roles import MEANINGS, ROLES
from pytest_ngraph.errors import UsageError

PASSPHRASE = "NGRAPH_CA_PASSPHRASE"
"""Name of the variable that may hold the passphrase, where nobody can type it."""


def declare(commands: Any) -> None:
    parser = commands.add_parser("cluster", help="run a cluster's scheduler, or make certificates for it")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    scheduler = actions.add_parser(
        "scheduler", help="pass cases from clients to devices", description="Pass cases from clients to devices."
    )
    scheduler.add_argument(
        "--address",
        metavar="tls://HOST:PORT",
        help="address to listen on; default: tls://0.0.0.0:8786 with certificates, else "
        "tls://127.0.0.1:8786 with certificates that are made for you",
    )
    credentials.declare(scheduler)
    scheduler.set_defaults(run=_schedule)
    certs = actions.add_parser(
        "certs",
        help="make a private authority and certificates",
        description="Make certificates signed by a private authority, which is made if the folder has none. The "
        "roles in a certificate are what its holder may do; a holder of the role submit can run code on the head and "
        "on every device. Keep ca-key.pem in this folder: it can issue more certificates.",
    )
    certs.add_argument("folder", type=path, metavar="DIR", help="the authority's folder")
    certs.add_argument(
        "--for",
        dest="names",
        nargs="+",
        default=[socket.gethostname()],
        metavar="HOST",
        help="names or addresses of machines, each of which gets a certificate; default: this machine's name",
    )
    certs.add_argument(
        "--role",
        dest="roles",
        nargs="+",
        required=True,
        choices=ROLES,
        help="; ".join(f"{role}: {meaning}" for role, meaning in MEANINGS.items()),
    )
    certs.add_argument(
        "--passphrase",
        action="store_true",
        help=f"encrypt the key of a new authority with a passphrase, which is asked for, or read from ${PASSPHRASE}",
    )
    certs.set_defaults(run=_certify)
    revoke = actions.add_parser(
        "revoke",
        help="declare certificates no longer valid",
        description="Declare all certificates that were made for some machines no longer valid, also those that were "
        "replaced since. A head whose ca.pem is in this folder refuses them at once; other machines need a copy of "
        "crl.pem beside their ca.pem.",
    )
    revoke.add_argument("folder", type=path, metavar="DIR", help="the authority's folder")
    revoke.add_argument("names", nargs="+", metavar="HOST", help="names for which certificates were made")
    revoke.set_defaults(run=_revoke)


def _schedule(parsed: argparse.Namespace) -> int:
    check_libraries()
    from pytest_ngraph.cluster import engine_settings, scheduler

    default = "0.0.0.0" if parsed.tls_ca else "127.0.0.1"
    endpoint = credentials.endpoint(parsed, parsed.address or default, "head")
    engine_settings.settle(verbose=parsed.verbose)
    scheduler.serve(endpoint, partial(print, flush=True))
    return 0


def _certify(parsed: argparse.Namespace) -> int:
    check_libraries()
    from pytest_ngraph.cluster import certs

    folder: Path = parsed.folder
    passphrase = _known_passphrase(folder)
    if parsed.passphrase and passphrase is None:
        if (folder / certs.CA).exists():
            raise UsageError(f"the authority in {folder} has no passphrase. Make another in an empty folder.")
        passphrase = _new_passphrase()
    for each in certs.issue(folder, parsed.names, parsed.roles, passphrase):
        print(each)
    return 0


def _revoke(parsed: argparse.Namespace) -> int:
    check_libraries()
    from pytest_ngraph.cluster import certs

    revoked = certs.revoke(parsed.folder, parsed.names, _known_passphrase(parsed.folder))
    for each in revoked.certificates:
        print(each)
    print(revoked.path)
    return 0


def _known_passphrase(folder: Path) -> bytes | None:
    """Return the passphrase of a folder's authority; None if it has none."""
    from pytest_ngraph.cluster import certs

    if not certs.is_encrypted(folder):
        return None
    return (os.environ.get(PASSPHRASE) or getpass.getpass(f"Passphrase of the authority in {folder}: ")).encode()


def _new_passphrase() -> bytes:
    """Return a passphrase for a new authority. Raises `UsageError` if it is empty, or typed differently twice."""
    given = os.environ.get(PASSPHRASE)
    first = given or getpass.getpass("Passphrase for the new authority: ")
    if not first:
        raise UsageError("an empty passphrase protects nothing. Type one, or leave out --passphrase.")
    if not given and getpass.getpass("Again: ") != first:
        raise UsageError("the two passphrases differ. Run the command again.")
    return first.encode()
