"""`pytest-ngraph cluster`: runs a cluster's scheduler, or makes certificates for its machines."""

from __future__ import annotations

import argparse
import socket
from functools import partial
from typing import Any

from pytest_ngraph.cli import credentials
from pytest_ngraph.cli.arguments import path
from pytest_ngraph.cluster import check_libraries


def declare(commands: Any) -> None:
    parser = commands.add_parser("cluster", help="run a cluster's scheduler, or make certificates for it")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    scheduler = actions.add_parser(
        "scheduler", help="pass cases from clients to devices", description="Pass cases from clients to devices."
    )
    scheduler.add_argument(
        "--address",
        metavar="tls://HOST:PORT",
        help="address to listen on; default: tls://0.0.0.0:8786 with certificates, else tcp://127.0.0.1:8786",
    )
    credentials.declare(scheduler)
    scheduler.set_defaults(run=_schedule)
    certs = actions.add_parser(
        "certs",
        help="make a private authority and certificates",
        description="Make certificates signed by a private authority, which is made if the folder has none. Whoever "
        "holds a certificate and its key can run code on every device of the cluster. Keep ca-key.pem in this folder: "
        "it can issue more certificates.",
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
    certs.set_defaults(run=_certify)


def _schedule(parsed: argparse.Namespace) -> int:
    check_libraries()
    from pytest_ngraph.cluster import engine_settings, scheduler

    default = "0.0.0.0" if parsed.tls_ca else "127.0.0.1"
    endpoint = credentials.endpoint(parsed, parsed.address or default)
    engine_settings.settle(verbose=parsed.verbose)
    scheduler.serve(endpoint, partial(print, flush=True))
    return 0


def _certify(parsed: argparse.Namespace) -> int:
    check_libraries()
    from pytest_ngraph.cluster import certs

    for each in certs.issue(parsed.folder, parsed.names):
        print(each)
    return 0
