"""As whom each connection to the head is registered, so that nobody speaks for another.

The engine takes the worker or client that a message names, even if the connection is another's. It also takes names in
place of addresses: of workers, and of hosts.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from distributed.comm.addressing import get_address_host, resolve_address

from pytest_ngraph.cluster.resources import are_its_own, is_name
from pytest_ngraph.cluster.roles import Peer

REGISTERS = {"register-worker": "address", "register-client": "client"}
"""The requests that register a connection, and the part of the message that says as whom."""
DEVICES = 100
"""The most devices that are there with the certificates of one name."""
PRINTED = ("print", "warn")
"""Topics whose messages the engine's clients print as they are."""


class Standing:
    """As whom a connection is registered.

    Args:
        is_open: returns whether the connection still is.

    Attributes:
        worker: the address of its worker; empty if it is none's.
        client: the id of its client; empty if it is none's.
        name: the name in the certificate of who has registered it.
    """

    def __init__(self, is_open: Callable[[], bool] = lambda: True) -> None:
        self.worker = ""
        self.client = ""
        self.name = ""
        self.is_open = is_open
        self._asks: tuple[str, str] | None = None

    @property
    def is_asking(self) -> bool:
        """Whether it waits to be registered."""
        return self._asks is not None

    def ask(self, peer: Peer, message: Mapping[Any, Any]) -> None:
        """Note whether the message asks to register the connection. The head may yet refuse, and not say so."""
        part = REGISTERS.get(message["op"])
        self._asks = (part, message[part]) if part and isinstance(message.get(part), str) else None
        if self._asks:
            self.name = peer.name

    def end(self, message: Any) -> tuple[str, str] | None:
        """Return what the connection is registered as by this answer of the head, and under which id; else None."""
        asked, self._asks = self._asks, None
        if asked is None:
            return None
        part, key = asked
        if part == "address" and isinstance(message, Mapping) and message.get("status") == "OK":
            self.worker = key
            return asked
        if part == "client" and isinstance(message, Sequence) and any(_starts(each) for each in message):
            self.client = key
            return asked
        return None


class Registry:
    """Which connections are registered as which workers and clients. Those that are closed do not count."""

    def __init__(self) -> None:
        self._holders: dict[tuple[str, str], Standing] = {}

    def answer(self, standing: Standing, message: Any) -> None:
        """Note what the head answers on a connection that asks to be registered."""
        if registered := standing.end(message):
            self._holders = {each: holder for each, holder in self._holders.items() if holder.is_open()}
            self._holders[registered] = standing

    def is_of_device(self, peer: Peer, message: Mapping[Any, Any], standing: Standing) -> bool:
        """Return whether a device asks for something about itself alone."""
        operation = message["op"]
        if "client" in message or ("worker" in message and message["worker"] != (standing.worker or None)):
            return False
        addresses = [message["address"]] if "address" in message else []
        if operation == "retire_workers":
            workers = message.get("workers")
            if not (isinstance(workers, (list, tuple)) and workers) or message.get("names") is not None:
                return False
            addresses += workers
        if operation == "who_has" and not isinstance(message.get("keys"), (list, tuple, set)):
            return False  # the engine would list all
        if operation == "register-worker" and (standing.worker or not is_name(message.get("name"))):
            return False
        if operation == "register-worker" and self._devices_of(peer) >= DEVICES:
            return False
        if operation == "log-event" and any(each in PRINTED for each in _each(message.get("topic"))):
            return False
        if operation == "register-worker" and not are_its_own(message.get("resources", {}), message):
            return False
        if operation != "register-worker" and "resources" in message:
            return False
        return all(is_literal(each) and self._is_free(("address", each), peer) for each in addresses)

    def is_of_client(self, peer: Peer, message: Mapping[Any, Any], standing: Standing) -> bool:
        """Return whether an observer asks for something in its own name."""
        if "worker" in message or "address" in message:
            return False
        if message["op"] == "register-client":
            return not standing.client and self._is_free(("client", str(message.get("client"))), peer)
        return "client" not in message or message["client"] == (standing.client or None)

    def _devices_of(self, peer: Peer) -> int:
        return sum(
            part == "address" and holder.name == peer.name and holder.is_open()
            for (part, _), holder in self._holders.items()
        )

    def _is_free(self, place: tuple[str, str], peer: Peer) -> bool:
        """Return whether a place is a peer's own, or nobody's."""
        holder = self._holders.get(place)
        return holder is None or holder.name == peer.name or not holder.is_open()


def is_literal(address: Any) -> bool:
    """Return whether an address is written as the engine keeps it, so that no name in it stands for another."""
    try:
        ipaddress.ip_address(get_address_host(address))
        return bool(resolve_address(address) == address)
    except (ValueError, TypeError, AttributeError, OSError):
        return False


def _each(topics: Any) -> Collection[Any]:
    return topics if isinstance(topics, Collection) and not isinstance(topics, str) else (topics,)


def _starts(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("op") == "stream-start"
