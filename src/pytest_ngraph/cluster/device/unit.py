"""A device as a service of systemd's."""

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
# Stopped, the device finishes what it measures; its own processes end with it.
KillMode=mixed
TimeoutStopSec=30min

[Install]
WantedBy=multi-user.target
"""


def unit(name: str, user: str, command: Sequence[str]) -> str:
    """The text of the unit, to be put into `/etc/systemd/system`. command: with absolute paths."""
    return UNIT.format(name=_literal(name), user=user, command=" ".join(map(_quoted, command)))


def _quoted(argument: str) -> str:
    """An argument as systemd.service(5) reads it."""
    escaped = _literal(argument).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"' if any(letter in escaped for letter in " \t'\"\\;") else escaped


def _literal(text: str) -> str:
    return text.replace("%", "%%")
