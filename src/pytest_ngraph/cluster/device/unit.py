"""A device as a systemd service."""

from __future__ import annotations

from collections.abc import Sequence

UNIT = """[Unit]
Description=pytest-ngraph device {name}
Wants=network-online.target
After=network-online.target

[Service]
User={user}
ExecStart={command}
Restart=on-failure
RestartSec=5
# When stopped, the device finishes its measurement; its child processes end with it.
KillMode=mixed
TimeoutStopSec=30min

[Install]
WantedBy=multi-user.target
"""


def unit(name: str, user: str, command: Sequence[str]) -> str:
    """Return the text of a unit for `/etc/systemd/system`. `command` has absolute paths."""
    return UNIT.format(name=_literal(name), user=user, command=" ".join(map(_quoted, command)))


def _quoted(argument: str) -> str:
    """Return an argument, quoted as in systemd.service(5)."""
    escaped = _literal(argument).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"' if any(letter in escaped for letter in " \t'\"\\;") else escaped


def _literal(text: str) -> str:
    return text.replace("%", "%%")
