"""The engine's connections, with a `Guard` at each end.

A connection that is opened with a guard among its arguments (`GuardedSecurity` adds it) is checked; others, such as
those of a user's own Dask cluster in the same process, stay as they are.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import Any, NoReturn
from weakref import WeakSet, ref

from distributed import Security
from distributed.comm import tcp
from distributed.comm.core import CommClosedError, FatalCommClosedError
from distributed.comm.registry import backends
from tornado.iostream import StreamClosedError

from pytest_ngraph.cluster.guard import REPORT_PARTS, Guard, Refused
from pytest_ngraph.cluster.plain import PLAIN, decode, parts
from pytest_ngraph.cluster.registry import Standing
from pytest_ngraph.cluster.roles import Peer, peer

LENGTH = struct.Struct("Q")


class Unreadable(Exception):
    """A message that is too big, or none."""


class GuardedSecurity(Security):
    """The engine's settings for certificates, and the guard of every connection made with them."""

    def __init__(self, guard: Guard, **settings: Any) -> None:
        super().__init__(**settings)  # type: ignore[no-untyped-call]
        self.guard = guard
        install()

    def get_connection_args(self, role: str) -> dict[str, Any]:
        return {**super().get_connection_args(role), "guard": self.guard}  # type: ignore[no-untyped-call]

    def get_listen_args(self, role: str) -> dict[str, Any]:
        return {**super().get_listen_args(role), "guard": self.guard}  # type: ignore[no-untyped-call]


class _Guarded:
    """Mixed into the engine's connections."""

    guard: Guard | None = None
    calls = False
    standing: Standing
    stream: Any

    async def read(self, deserializers: Any = None) -> Any:
        if self.guard is None:
            return await super().read(deserializers)  # type: ignore[misc]
        who = self._peer()
        _OPEN.add(self)
        try:
            self.guard.admit(who, calls=self.calls)
            if self.guard.trusts(who):
                message = await super().read(deserializers)  # type: ignore[misc]
            else:
                message = await self._read_plain()
            self.guard.admit(who, calls=self.calls)  # it may have been revoked while this end waited
            if self.calls:
                self.guard.check(who, message, self.standing)
        except Unreadable as reason:
            self._expel(who, str(reason))
            self._refuse(f"{who or 'a peer'}: {reason}")
        except Refused as reason:
            self._refuse(str(reason))
        return message

    def _expel(self, who: Peer | None, why: str) -> None:
        """Refuse the peer from now on, and close its other connections."""
        assert self.guard is not None
        self.guard.expel(who, why)
        theirs = [each for each in _OPEN if each.guard is self.guard and each._peer() == who]
        for each in theirs if who and self.guard.part == "head" else ():
            each.abort()  # type: ignore[attr-defined]

    def _refuse(self, reason: str) -> NoReturn:
        assert self.guard is not None
        self.abort()  # type: ignore[attr-defined]
        self.guard.say(f"refused {reason}")
        raise CommClosedError(f"refused {reason}") from None

    async def write(self, msg: Any, serializers: Any = None, on_error: str = "message") -> Any:
        """Send a message. A device sends plain data: whoever receives it takes nothing else."""
        if self.guard is not None and self.guard.part == "measure":
            serializers = (*PLAIN, "error")
        if self.guard is not None and self.calls:
            self.guard.answer(self.standing, msg)
        return await super().write(msg, serializers=serializers, on_error=on_error)  # type: ignore[misc]

    def _peer(self) -> Peer | None:
        certificate = self.extra_info.get("peercert")  # type: ignore[attr-defined]
        return peer(certificate) if certificate else None

    async def _read_plain(self) -> Any:
        assert self.guard is not None
        try:
            frames = await self._frames(self.guard.limit_bytes)
            message = decode(frames, pass_on=self.guard.part == "head", plain_bytes=self.guard.plain_bytes)
            _check_size(sum(map(len, frames)), self.guard.limit_of(message))
            if self.guard.is_report(message) and parts(message) > REPORT_PARTS:
                raise Unreadable(f"its report has more than {REPORT_PARTS:,} parts")
            return message
        except (ValueError, struct.error) as error:
            raise Unreadable(f"its message cannot be read ({error})") from None
        except StreamClosedError as error:
            self.abort()  # type: ignore[attr-defined]
            raise CommClosedError(str(error)) from None
        except BaseException:
            self.abort()  # type: ignore[attr-defined]
            raise

    async def _frames(self, limit_bytes: int) -> list[bytes]:
        """Return the frames of a message: a length, then the frames' lengths and the first frames, then the others."""
        stream = self.stream
        if stream is None:
            raise CommClosedError
        length = LENGTH.unpack(await stream.read_bytes(LENGTH.size))[0]
        _check_size(length, limit_bytes)
        begin = await stream.read_bytes(length)
        number = LENGTH.unpack_from(begin)[0]
        _check_size(number, limit_bytes)
        lengths = struct.unpack_from(f"{number}Q", begin, LENGTH.size)
        _check_size(sum(lengths), limit_bytes)
        frames, start = [], LENGTH.size * (1 + number)
        for each in lengths:
            end = start + each
            if end <= len(begin):
                frames.append(begin[start:end])
            else:
                frames.append(await stream.read_bytes(each))
            start = end
        return frames


_OPEN: WeakSet[_Guarded] = WeakSet()


def _is_open(comm: ref[Any]) -> bool:
    found = comm()
    return found is not None and not found.closed()


def _check_size(size_bytes: int, limit_bytes: int) -> None:
    if size_bytes > limit_bytes:
        raise Unreadable(f"its message has {size_bytes / 2**20:,.1f} MiB; at most {limit_bytes / 2**20:g} are read")


class GuardedTCP(_Guarded, tcp.TCP):
    """A connection without encryption."""


class GuardedTLS(_Guarded, tcp.TLS):
    """A connection with certificates at both ends."""


class _GuardedConnector:
    """Mixed into what opens connections."""

    async def connect(
        self, address: str, deserialize: bool = True, guard: Guard | None = None, **arguments: Any
    ) -> Any:
        comm = await super().connect(address, deserialize=deserialize, **arguments)  # type: ignore[misc]
        if guard is not None:
            comm.guard = guard
            try:
                guard.admit(comm._peer(), calls=False)
            except Refused as reason:
                comm.abort()
                guard.say(f"refused {reason}")
                raise FatalCommClosedError(f"refused {reason}") from None
        return comm


class _GuardedListener:
    """Mixed into what accepts connections."""

    def __init__(self, *arguments: Any, guard: Guard | None = None, **others: Any) -> None:
        super().__init__(*arguments, **others)
        self._guard = guard

    async def on_connection(self, comm: Any, *arguments: Any, **others: Any) -> Any:
        comm.guard, comm.calls = self._guard, True
        comm.standing = Standing(partial(_is_open, ref(comm)))
        return await super().on_connection(comm, *arguments, **others)  # type: ignore[misc]


class _TCPConnector(_GuardedConnector, tcp.TCPConnector):
    comm_class = GuardedTCP


class _TLSConnector(_GuardedConnector, tcp.TLSConnector):
    comm_class = GuardedTLS


class _TCPListener(_GuardedListener, tcp.TCPListener):
    comm_class = GuardedTCP


class _TLSListener(_GuardedListener, tcp.TLSListener):
    comm_class = GuardedTLS


class _TCPBackend(tcp.TCPBackend):
    _connector_class = _TCPConnector
    _listener_class = _TCPListener


class _TLSBackend(tcp.TLSBackend):
    _connector_class = _TLSConnector
    _listener_class = _TLSListener


def install() -> None:
    """Have the engine open its connections through this module."""
    if not isinstance(backends.get("tls"), _TLSBackend):
        backends["tcp"], backends["tls"] = _TCPBackend(), _TLSBackend()
