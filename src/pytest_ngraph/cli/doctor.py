"""`pytest-ngraph doctor`: this machine, its devices and compilers, and what is missing."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_ngraph import compilers
from pytest_ngraph.devices import BUILT_IN
from pytest_ngraph.machine import environment


def declare(commands: Any) -> None:
    parser = commands.add_parser("doctor", help="show this machine, its devices and compilers, and what is missing")
    parser.set_defaults(run=_run)


def _run(_: argparse.Namespace) -> int:
    for name, value in environment().items():
        print(f"{name:18} {value}")
    print("\ndevices")
    for device in BUILT_IN.values():
        print(f"  {device.name:16} {device.absent() or 'this machine can be measured as this'}")
    print("\ncompilers")
    for name in compilers.names():
        print(f"  {name:16} {compilers.missing_library(name) or 'installed'}")
    return 0
