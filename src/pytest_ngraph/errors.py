"""Errors as messages for the user: each gives the value that came, the values allowed and the next step."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class NgraphError(Exception):
    """Base of every error that pytest-ngraph raises on purpose. Its text is shown without a traceback."""


class UsageError(NgraphError):
    """The user asked for something that does not exist or is not possible."""

    @classmethod
    def unknown(cls, what: str, value: object, allowed: Iterable[str], hint: str = "") -> UsageError:
        """Return an error that gives the value, suggests the nearest allowed one and lists all allowed ones."""
        names = sorted(allowed)
        near = get_close_matches(str(value), names, n=1)
        suggestion = f" Did you mean {near[0]!r}?" if near else ""
        listing = f" Known: {', '.join(names)}." if names else ""
        return cls(f"unknown {what} {value!r}.{suggestion}{listing}{' ' + hint if hint else ''}")


class Unsupported(NgraphError):
    """This compiler, device or library cannot run this case. The test skips with this text as the reason."""


class Unreachable(UsageError):
    """The machine that should measure all cases cannot be reached, or lacks a device. This holds for every test."""


class StoreError(NgraphError):
    """The store cannot be read or written."""


class DeviceAway(NgraphError):
    """A device of the cluster has left, so that its cases cannot be measured in this session."""
