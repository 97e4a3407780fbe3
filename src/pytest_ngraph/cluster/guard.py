"""What each end of a connection may do, by the roles in its certificate. Both ends check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_ngraph.cluster.registry import Registry, Standing
from pytest_ngraph.cluster.revocation import Revoked
from pytest_ngraph.cluster.roles import Peer, Role

LIMIT_BYTES = 256 * 2**20
"""The most that one message to the head may have, unless its sender may submit."""
CLIENT_LIMIT_BYTES = 2**30
"""The most that one message to a client may have: the head sends the answers of several devices at once."""
PLAIN_BYTES, CLIENT_PLAIN_BYTES = 2**22, 2**26
"""The most of it that may be no long text, which takes many times as much memory: at the head, and at a client."""
REPORT_BYTES, REPORT_PARTS = 2**18, 20_000
"""The most that a device's registration, or a heartbeat, may have, and the most lists and objects in it: the head keeps
it, and each client is sent those of all devices."""
BOTH = frozenset({"identity", "ping", "close", "close-stream"})
MEASURE = BOTH | {
    "register-worker", "unregister", "heartbeat_worker", "retire_workers", "who_has", "task-finished", "task-erred",
    "release-worker-data", "add-keys", "reschedule", "keep-alive", "log-event",
    "worker-status-change", "request-refresh-who-has", "steal-response", "versions",
}  # fmt: skip
"""What a device may ask of the head: what its worker asks by itself for our tasks, and the engine's version."""
OBSERVE = BOTH | {
    "register-client", "processing", "ncores", "versions", "heartbeat-client", "close-client", "subscribe-topic",
    "unsubscribe-topic",
}  # fmt: skip
"""What an observer may ask of the head."""
REPORTS = ("register-worker", "heartbeat_worker")
"""The requests in which a device reports about itself."""
NOT_SUBMIT = frozenset({*REPORTS, "register_nanny"})
"""What a client may not ask of the head: to be a device. It may ask everything else."""


class Refused(Exception):
    """A peer that may not connect, or not do what it asks. The text says who, and what."""


class Guard:
    """The rules of one part of a cluster for its connections.

    Args:
        part: the role of this end.
        revoked: certificates that are no longer valid; None without certificates.
        say: called with a line about each refusal.

    Attributes:
        limit_bytes: the most that a message of a peer that is not trusted may have.
        plain_bytes: the most of it that may be no long text.
    """

    def __init__(self, part: Role, revoked: Revoked | None, say: Callable[[str], None] = lambda line: None) -> None:
        self.part = part
        self.say = say
        self.limit_bytes = LIMIT_BYTES if part == "head" else CLIENT_LIMIT_BYTES
        self.plain_bytes = PLAIN_BYTES if part == "head" else CLIENT_PLAIN_BYTES
        self._revoked = revoked
        self._registry = Registry()
        self._expelled: dict[int, str] = {}

    def admit(self, peer: Peer | None, *, calls: bool) -> None:
        """Raise `Refused` if a peer may not take part.

        Args:
            peer: the other end; None without certificates.
            calls: whether it has called this end, instead of being called.
        """
        if self._revoked is None:
            return
        if peer is None:
            raise Refused("a peer without a certificate")
        if self._revoked.has(peer.serial):
            raise Refused(f"{peer}: its certificate is revoked")
        if peer.serial in self._expelled:
            raise Refused(f"{peer}: {self._expelled[peer.serial]}")
        if self.part == "head":
            wanted: tuple[Role, ...] = ("submit", "measure", "observe") if calls else ("measure",)
        else:
            wanted = ("head",)
        if not any(peer.may(role) for role in wanted):
            raise Refused(f"{peer}: its certificate is not for {' or '.join(wanted)}")

    def expel(self, peer: Peer | None, why: str) -> None:
        """Refuse a peer from now on, until this process ends."""
        if peer is not None and self.part == "head":
            self._expelled[peer.serial] = f"{why}; restart the head to let it in again"

    def trusts(self, peer: Peer | None) -> bool:
        """Return whether what a peer sends may be unpickled, which lets it run any code here."""
        if self.part in ("submit", "observe"):
            return False
        if self._revoked is None:
            return True
        return peer is not None and peer.may("submit" if self.part == "head" else "head")

    def limit_of(self, message: Any) -> int:
        """Return the most that a message of a peer that is not trusted may have, by what it asks for."""
        return REPORT_BYTES if self.is_report(message) else self.limit_bytes

    def is_report(self, message: Any) -> bool:
        """Return whether a device reports about itself by a message."""
        return self.part == "head" and isinstance(message, Mapping) and message.get("op") in REPORTS

    def check(self, peer: Peer | None, message: Any, standing: Standing | None = None) -> None:
        """Raise `Refused` if a peer that has called the head may not send a message.

        Args:
            peer: who has sent it; None without certificates.
            message: what was sent, which may be several messages.
            standing: as whom its connection is registered; None for a connection of its own.
        """
        if self.part != "head" or peer is None:
            return
        standing = standing or Standing()
        for each in message if isinstance(message, (list, tuple)) else (message,):
            if isinstance(each, Mapping) and "op" in each:
                if not self._allows(peer, each, standing):
                    raise Refused(f"{peer}: may not ask for {str(each['op'])[:40]!r}")
                standing.ask(peer, each)

    def answer(self, standing: Standing, message: Any) -> None:
        """Note what the head answers on a connection: it may be the end of a registration."""
        if self.part == "head" and standing.is_asking:
            self._registry.answer(standing, message)

    def _allows(self, peer: Peer, message: Mapping[Any, Any], standing: Standing) -> bool:
        operation = message["op"]
        if not isinstance(operation, str):
            return False
        if peer.may("submit") and operation not in NOT_SUBMIT:
            return True
        if peer.may("measure") and operation in MEASURE:
            return self._registry.is_of_device(peer, message, standing)
        return peer.may("observe") and operation in OBSERVE and self._registry.is_of_client(peer, message, standing)
