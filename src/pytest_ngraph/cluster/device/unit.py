"""A device as a systemd service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))

STOP_S = 300.0
"""The most time that a device that is stopped gives its measurement under way."""
MARGIN_S = 60.0
"""Time to end what still measures then, and to leave, before systemd kills the device."""
UNIT = """[Unit]
Description=pytest-ngraph device {name}
Wants=network-online.target
After=network-online.target

[Service]
User={user}
{environment}ExecStart={command}
Restart=on-failure
RestartSec=5
# When stopped, the device finishes its measurement, or gives it back after a while; its child processes end with it.
KillMode=mixed
TimeoutStopSec={stop_s:.0f}
# The device writes to its own folders and the user's caches only, and gains no rights. What it may not be without:
# /tmp, which has the lock that all measurements on this machine share; device files of GPUs and boards; memory that
# code is compiled into.
# No ProtectClock: in older versions of systemd it closes all device files but clocks (DeviceAllow). The device cannot
# set the clock anyhow, without capabilities and the system calls of @clock.
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=read-only
{writable}
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service perf_event_open
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""


def unit(
    name: str,
    user: str,
    command: Sequence[str],
    writable: Sequence[Path] = (),
    environment: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the text of a unit for `/etc/systemd/system`.

    Args:
        name: the device's.
        user: who it runs as.
        command: what it runs, with absolute paths.
        writable: folders that it writes to, besides the temporary ones. One that is missing is no error.
        environment: variables that it needs. Of the caller's own it gets no others.
    """
    folders = [f"-{path}" for path in (*TEMPORARY, *writable)]
    return UNIT.format(
        name=_literal(name),
        user=user,
        stop_s=STOP_S + MARGIN_S,
        environment="".join(f"Environment={_quoted(f'{each}={value}')}\n" for each, value in environment.items()),
        command=" ".join(_quoted(each).replace("$", "$$") for each in command),
        writable=f"ReadWritePaths={' '.join(map(_quoted, folders))}",
    )


def _quoted(argument: str) -> str:
    """Return an argument, quoted as in systemd.syntax(7)."""
    escaped = _literal(argument).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if any(letter in escaped for letter in " \t'\"\\;") else escaped


def _literal(text: str) -> str:
    return text.replace("%", "%%")
