"""What goes wrong, as messages for the person who typed: the value that came, the values allowed, the next step."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class NgraphError(Exception):
    """Base of every error that pytest-ngraph raises on purpose. Its text is shown without a traceback."""


class UsageError(NgraphError):
    """The user asked for something that does not exist or cannot be."""

    @classmethod
    def unknown(cls, what: str, value: object, allowed: Iterable[str], hint: str = "") -> UsageError:
        """An error that names the value, suggests the nearest one and lists all that are allowed."""
        names = sorted(allowed)
        near = get_close_matches(str(value), names, n=1)
        suggestion = f" Did you mean {near[0]!r}?" if near else ""
        listing = f" Known: {', '.join(names)}." if names else ""
        return cls(f"unknown {what} {value!r}.{suggestion}{listing}{' ' + hint if hint else ''}")


class Unsupported(NgraphError):
    """This compiler, device or library cannot run this case. The test skips with this text as the reason."""


class Unreachable(UsageError):
    """Where all cases were to be measured cannot be reached, or lacks a device: the same for every test."""


class StoreError(NgraphError):
    """The store cannot be read or written."""


class DeviceAway(NgraphError):
    """A device of the cluster is gone, so that its cases cannot be measured in this session."""
