"""`pytest-ngraph device`: makes this machine a device of a cluster, and lists or stops devices."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.cli import credentials, device_limits, fleet
from pytest_ngraph.cli.arguments import add_action, path
from pytest_ngraph.cluster import check_libraries
from pytest_ngraph.cluster.audit import user_name
from pytest_ngraph.cluster.device.folder import DeviceFolder, default_folder
from pytest_ngraph.cluster.device.unit import unit
from pytest_ngraph.cluster.resources import is_name
from pytest_ngraph.system.files import make_private, user_folder
from pytest_ngraph.system.installed import LIBRARIES

if TYPE_CHECKING:
    from pytest_ngraph.cluster.client.link import Link
    from pytest_ngraph.cluster.presence import JoinedDevice
    from pytest_ngraph.cluster.roles import Role

MACHINE = ("processor", "architecture", "memory", "gpu", "driver", "system")
"""Facts of a device's machine that `device list` prints."""
LIBRARY_CACHES = ("HF_HOME", "HF_HUB_CACHE", "TORCH_HOME")
"""Variables that name folders to which libraries download models, if these are not in the user's cache."""


def declare(commands: Any) -> None:
    parser = commands.add_parser("device", help="make this machine a device of a cluster, list or stop devices")
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    def add(name: str, run: Any, help_: str) -> argparse.ArgumentParser:
        action = add_action(actions, name, run, help_)
        action.add_argument("--scheduler", required=True, metavar="tls://HOST:PORT", help="the cluster's scheduler")
        credentials.declare(action)
        return action

    start = add("start", _start, "run as a device until Ctrl-C or SIGTERM; a measurement under way is finished first")
    start.add_argument("--name", required=True, type=_name, help="this machine's name in the cluster")
    start.add_argument(
        "--device",
        type=_name,
        metavar="NAME",
        help="the device that tests ask for (--device=NAME); several machines can share it; default: --name",
    )
    start.add_argument(
        "--host",
        metavar="ADDRESS",
        help="address to listen on; default: the one from which this machine reaches the scheduler",
    )
    start.add_argument("--port", type=int, default=0, metavar="N", help="port to listen on; default: any free port")
    start.add_argument("--folder", type=path, metavar="DIR", help="where to keep results, projects and scratch files")
    device_limits.declare(start)
    start.add_argument(
        "--print-unit",
        action="store_true",
        help="print a systemd unit that runs this, make the folders that it writes to, and exit",
    )
    add("list", _list, "list the devices that have joined: name, state, fingerprint, health, versions and compilers")
    stop = add("stop", _stop, "make devices leave the cluster after the measurement under way")
    stop.add_argument("names", nargs="+", metavar="NAME", help="name of a device, or of a pool")
    fleet.declare(add, _link)


def _start(parsed: argparse.Namespace) -> int:
    check_libraries()
    folder = (parsed.folder or default_folder(parsed.name)).absolute()
    endpoint = credentials.endpoint(parsed, parsed.scheduler, "measure")
    if parsed.host and not (endpoint.encrypted or parsed.insecure):
        from pytest_ngraph.cluster.security import refuse_open

        refuse_open(f"--host={parsed.host}", parsed.host)
    if parsed.print_unit:
        print(_unit(parsed, folder, endpoint.address), end="")
        return 0
    from pytest_ngraph.cluster import engine_settings
    from pytest_ngraph.cluster.device import device

    engine_settings.settle(verbose=parsed.verbose)
    membership = device.Membership(
        name=parsed.name,
        pool=parsed.device or parsed.name,
        scheduler=endpoint,
        folder=DeviceFolder(folder),
        host=parsed.host,
        port=parsed.port,
        policy=device_limits.policy(parsed),
        quotas=device_limits.quotas(parsed),
    )
    device.serve(membership, partial(print, f"device {parsed.name}:", flush=True))
    return 0


def _list(parsed: argparse.Namespace) -> int:
    with _link(parsed, "observe") as link:
        devices = fleet.present(link)
    for device in devices:
        print("\n".join(_lines(device)))
    if not devices:
        print(f"no device has joined {parsed.scheduler}. Start one on its machine: pytest-ngraph device start")
    return 0


def _stop(parsed: argparse.Namespace) -> int:
    with _link(parsed, "submit") as link:
        from pytest_ngraph.cluster.device.device import stop

        chosen = fleet.chosen(fleet.present(link), parsed.names)
        answers = link.run(stop, on=[device.address for device in chosen])
    for device in chosen:
        leaves = f"leaves{' after the measurement under way' if device.state == 'busy' else ''}"
        print(f"{device.name} {fleet.outcome(device, answers, leaves)}")
    return int(not all(fleet.succeeded(device, answers) for device in chosen))


def _link(parsed: argparse.Namespace, part: Role) -> AbstractContextManager[Link]:
    check_libraries()
    from pytest_ngraph.cluster import engine_settings
    from pytest_ngraph.cluster.client.link import Link

    engine_settings.settle(verbose=parsed.verbose)
    return closing(Link(credentials.endpoint(parsed, parsed.scheduler, part)))


def _lines(device: JoinedDevice) -> list[str]:
    """Return what `device list` prints: name and state, machine, health, versions, compilers, what is missing."""
    about = device.environment
    pool = f" of {device.pool}" if device.pool != device.name else ""
    machine = [about[fact] for fact in MACHINE if fact in about]
    versions = [f"{library} {about[library]}" for library in ("python", *LIBRARIES) if library in about]
    missing = [reason for reason in device.compilers.values() if reason]
    return [
        f"{device.name}{pool}  {device.state}  {device.address}  {about['fingerprint']}",
        f"  {', '.join(machine)}",
        *fleet.health_lines(device),
        f"  {', '.join(versions)}",
        f"  compilers: {', '.join(device.installed)}",
        *(f"    {reason}" for reason in missing),
    ]


def _unit(parsed: argparse.Namespace, folder: Path, address: str) -> str:
    options = {"name": parsed.name, "device": parsed.device, "host": parsed.host, "port": parsed.port}
    command = [
        *(sys.executable, "-m", "pytest_ngraph.cli", "device", "start", f"--scheduler={address}", f"--folder={folder}"),
        *(f"--{option}={value}" for option, value in options.items() if value),
        *device_limits.as_typed(parsed),
        *credentials.as_typed(parsed),
    ]
    own_cache = user_folder()
    environment = {
        name: str(Path(os.environ[name]).expanduser().absolute())
        for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", *LIBRARY_CACHES)
        if os.environ.get(name)
    }
    downloads = [Path(environment[name]) for name in LIBRARY_CACHES if name in environment]
    for each in (folder, own_cache, *downloads):  # the unit may write to them, but may not make them
        make_private(each)
    writable = [folder, own_cache.absolute().parent, *downloads]
    return unit(parsed.name, user_name(), command, writable, environment)


def _name(text: str) -> str:
    if not is_name(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a name: use letters, digits, '.', '_' and '-'")
    return text
