"""A device as a systemd service."""

from __future__ import annotations

from collections.abc import Sequence

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
ExecStart={command}
Restart=on-failure
RestartSec=5
# When stopped, the device finishes its measurement, or gives it back after a while; its child processes end with it.
KillMode=mixed
TimeoutStopSec={stop_s:.0f}

[Install]
WantedBy=multi-user.target
"""


def unit(name: str, user: str, command: Sequence[str]) -> str:
    """Return the text of a unit for `/etc/systemd/system`. `command` has absolute paths."""
    return UNIT.format(
        name=_literal(name), user=user, stop_s=STOP_S + MARGIN_S, command=" ".join(map(_quoted, command))
    )


def _quoted(argument: str) -> str:
    """Return an argument, quoted as in systemd.service(5)."""
    escaped = _literal(argument).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"' if any(letter in escaped for letter in " \t'\"\\;") else escaped


def _literal(text: str) -> str:
    return text.replace("%", "%%")
