"""Reads messages of the engine from peers that must not run code here.

The engine's own reader unpickles whatever the sender marks as pickled, and its handlers unpickle further bytes that
messages contain (results, exceptions, types, warnings). This reader takes plain data only, and leaves neither pickles
nor bytes in a message: where one was, there is a text that says so. No handler can unpickle a text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgpack
from distributed.protocol.serialize import Serialized, merge_and_deserialize
from distributed.protocol.utils import msgpack_opts

NOT_READ = "(not read: it is not plain data)"
"""Stands for each part of a message that is pickled, compressed or raw bytes."""
TOO_MUCH = "too much of it is no long text"
TEXT = (*range(0xA0, 0xC0), 0xD9, 0xDA, 0xDB)
"""How a text begins in msgpack."""
PLAIN = ("msgpack",)
"""The engine's formats that cannot run code when they are read."""


def decode(frames: Sequence[Any], *, pass_on: bool, plain_bytes: int) -> Any:
    """Return a message without running anything that it contains.

    Args:
        frames: the message, as `distributed.protocol.dumps` returns it.
        pass_on: leave parts that are serialized as they are, unread, for whoever they are passed on to.
        plain_bytes: the most that may be unpacked, besides long texts: an object of one byte takes up to 64 in memory.

    Raises:
        ValueError: it is no message, or too much of it would be unpacked. Of parts that were passed on, only those are
            not read.
    """
    left = plain_bytes

    def fits(content: Sequence[Any]) -> bool:
        nonlocal left
        size = sum(map(len, content))
        if size > left:
            return False
        left -= size
        return True

    def found(data: dict[Any, Any]) -> Any:
        if "__Serialized__" in data and data["__Serialized__"] is not True:
            return _part(frames, data["__Serialized__"], fits, pass_on=pass_on)
        if "__Pickled__" in data or "__Serialized__" in data:
            return NOT_READ
        if "__Set__" in data:
            return set(data["as-list"])
        if "__Enum__" in data:
            return data["name"]
        return data

    try:
        if not fits(frames[:1]):
            raise ValueError(TOO_MUCH)
        return _without_bytes(_unpacked(frames[0], found))
    except (TypeError, LookupError, AttributeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def parts(message: Any) -> int:
    """Return how many lists and objects there are in a message, itself included."""
    count, left = 0, [message]
    while left:
        each = left.pop()
        if isinstance(each, (Mapping, list, tuple, set)):
            count += 1
            left += each.values() if isinstance(each, Mapping) else each
    return count


def _part(frames: Sequence[Any], place: int, fits: Callable[[Sequence[Any]], bool], *, pass_on: bool) -> Any:
    if not fits([frames[place]]):
        if pass_on:
            raise ValueError(TOO_MUCH)
        return NOT_READ
    header = _unpacked(frames[place], lambda data: data)
    content = list(frames[place + 1 : place + 1 + header["num-sub-frames"]])
    if pass_on:
        return Serialized(header, content)
    if any(header.get("compression") or ()):  # it may expand to any size
        return NOT_READ
    if not (content and len(content[0]) and content[0][0] in TEXT) and not fits(content):
        return NOT_READ
    try:
        return merge_and_deserialize(header, content, deserializers=PLAIN)
    except Exception:  # whatever is wrong with it, it is the sender's doing
        return NOT_READ


def _unpacked(frame: Any, found: Any) -> Any:
    return msgpack.loads(frame, object_hook=found, use_list=False, **msgpack_opts)


def _without_bytes(message: Any) -> Any:
    if isinstance(message, Mapping):
        cleaned = {_without_bytes(key): _without_bytes(value) for key, value in message.items()}
        if cleaned.get("exception") == NOT_READ and isinstance(cleaned.get("exception_text"), str):
            cleaned["exception"] = cleaned["exception_text"]
        return cleaned
    if isinstance(message, (list, tuple)):
        return tuple(_without_bytes(each) for each in message)
    if isinstance(message, set):
        return {_without_bytes(each) for each in message}
    if message is None or isinstance(message, (bool, int, float, str, Serialized)):
        return message
    return NOT_READ
