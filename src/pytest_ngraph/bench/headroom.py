"""Whether memory has room for one more arm beside those that are resident."""

from __future__ import annotations

from collections.abc import Callable

from pytest_ngraph.machine.machine import memory_share_in_use

RESIDENT_SHARE = 0.8
"""Of the machine's memory, that arms which are measured in turn may hold together."""


class Headroom:
    """Asked before each arm of a group. The next is taken to need as much as the greediest before it: an arm keeps what
    its calls free, and so holds its memory while others run.

    in_use: the share of the machine's memory that is in use.
    """

    def __init__(self, in_use: Callable[[], float] = memory_share_in_use) -> None:
        self._in_use = in_use
        self._before: float | None = None
        self._greediest = 0.0

    def is_left(self) -> bool:
        """Whether another arm fits. The first does: it may have all that there is."""
        now = self._in_use()
        if self._before is None:
            self._before = now
            return True
        self._greediest = max(self._greediest, now - self._before)
        self._before = now
        return now + self._greediest < RESIDENT_SHARE
