"""Brings projects to devices, side by side, so that a device which does not answer delays no other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pytest_ngraph.cluster.client.link import LOST, Answer, Link, failure
from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.project import Packed

QUESTION_S = 15.0
"""Time for a device to answer what it lacks. The tasks of one that answers later ask for it."""
AT_ONCE = 4
"""How many archives are sent at the same time."""


class Deliveries:
    """The deliveries under way, one for each device.

    Args:
        link: the connection to the cluster.
        archives: what devices may need, by digest.
        sender: id of this client.
        later: takes a function from any thread, and has it called in the thread that owns this object.
        ended: called with the address of a device when its delivery has ended, and why, if it failed: one of `LOST` if
            the device was not reached, else the device refused.
    """

    def __init__(
        self,
        link: Link,
        archives: Mapping[str, Packed],
        sender: str,
        later: Callable[[Callable[[], None]], None],
        ended: Callable[[str, BaseException | None], None],
    ) -> None:
        self._link = link
        self._archives = archives
        self._sender = sender
        self._later = later
        self._ended = ended
        self._complete: set[str] = set()
        self._under_way: dict[str, deque[str]] = {}
        self._waiting: deque[str] = deque()
        self._sending = 0
        self._is_void = False

    def cancel(self) -> None:
        """Forget all deliveries: what devices answer from now on is ignored."""
        self._is_void = True

    def has_all(self, address: str) -> bool:
        """Return whether the device had or got everything, or was asked in vain and will ask by itself."""
        return address in self._complete

    def begin(self, address: str) -> None:
        """Ask a device what it lacks and bring it, unless that is under way. Raises one of `LOST`."""
        if address not in self._under_way:
            answer = self._link.ask(task.lacking, list(self._archives), of=address, timeout_s=QUESTION_S)
            self._under_way[address] = deque()
            self._then(answer, lambda: self._send(address, [] if failure(answer) else self._known(answer.result())))

    def bring(self, address: str, digests: Collection[str], device: str) -> None:
        """Bring what a device has asked for, unless a delivery to it is under way. Raises one of `LOST`.

        Args:
            address: the machine's, as it says.
            digests: what it lacks, as it says.
            device: what its group was sent to. A machine gets nothing that is none of this device's.
        """
        if address not in self._under_way:
            members = [each.address for each in self._link.present() if device in (each.name, each.pool)]
            self._under_way[address] = deque()
            self._send(address, self._known(digests) if address in members else [])

    def _known(self, digests: Any) -> list[str]:
        """Return the archives among what a device says that it lacks. It may say anything."""
        return [each for each in self._archives if isinstance(digests, (list, tuple)) and each in digests]

    def _send(self, address: str, digests: list[str]) -> None:
        """Send archives to a device, one after another."""
        if not digests:
            self._end(address)
            return
        self._under_way[address].extend(digests)
        self._waiting.append(address)
        self._send_next()

    def _send_next(self) -> None:
        while self._waiting and self._sending < AT_ONCE:
            address = self._waiting.popleft()
            packed = self._archives[self._under_way[address].popleft()]
            try:
                answer = self._link.deliver(packed, self._sender, to=address)
            except LOST as error:  # the next call notices it, too
                self._end(address, error)
                continue
            self._sending += 1
            self._then(answer, self._sent(address, answer))

    def _sent(self, address: str, answer: Answer) -> Callable[[], None]:
        def proceed() -> None:
            self._sending -= 1
            error = failure(answer)
            if error is None and self._under_way[address]:
                self._waiting.append(address)
            else:
                self._end(address, error)
            self._send_next()

        return proceed

    def _end(self, address: str, error: BaseException | None = None) -> None:
        del self._under_way[address]
        self._complete.add(address)
        self._ended(address, error)

    def _then(self, answer: Answer, proceed: Callable[[], None]) -> None:
        answer.add_done_callback(lambda _: self._later(lambda: None if self._is_void else proceed()))
