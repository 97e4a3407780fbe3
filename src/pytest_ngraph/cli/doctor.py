"""`pytest-ngraph doctor`: shows this machine, its devices and compilers, and what is missing."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_ngraph import compilers
from pytest_ngraph.cli.project import add_devices, inventory
from pytest_ngraph.machine.machine import environment
from pytest_ngraph.system import onnx_distributions
from pytest_ngraph.system.installed import distributions_of
from pytest_ngraph.system.support import cannot_measure


def declare(commands: Any) -> None:
    parser = commands.add_parser("doctor", help="show this machine, its devices and compilers, and what is missing")
    add_devices(parser)
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    devices = inventory(parsed)
    for name, value in environment().items():
        print(f"{name:18} {value}")
    if reason := cannot_measure():
        print(f"\n{reason}")
    print("\ndevices")
    for device in devices.values():
        print(f"  {device.name:16} {device.absent() or 'this machine can be measured as this device'}")
    print("\ncompilers")
    for name in compilers.names():
        print(f"  {name:16} {compilers.missing_library(name) or _installed(name)}")
    if problem := onnx_distributions.overwritten():
        print(f"\n{problem}")
    return 0


def _installed(compiler: str) -> str:
    """Return which distributions have the compiler's own library: several may have written the module onnxruntime."""
    found = distributions_of(compilers.resolve(compiler).libraries[0])
    return f"installed: {', '.join(' '.join(each) for each in found.items())}" if found else "installed"
