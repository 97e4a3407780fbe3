"""No message of a peer that is not trusted runs code, whichever way its sender packs it."""

from __future__ import annotations

import enum
import pickle
from pathlib import Path
from typing import Any

import pytest
from distributed.core import clean_exception, error_message
from distributed.protocol.core import dumps
from distributed.protocol.serialize import Serialized, ToPickle, to_serialize

from pytest_ngraph.cluster.guard import CLIENT_PLAIN_BYTES, PLAIN_BYTES
from pytest_ngraph.cluster.plain import NOT_READ, TOO_MUCH, decode, parts


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


class Colour(enum.Enum):
    RED = 1


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "ran"


def received(message: Any, **how: Any) -> Any:
    """Return what a client makes of a message."""
    return decode(dumps(message, **how), pass_on=False, plain_bytes=CLIENT_PLAIN_BYTES)


def test_plain_data_arrive(mark: Path) -> None:
    message = {"op": "say", "a": (1, 2.5, None, True), "b": {"c": "text"}, ("tuple", 1): set(), "d": {1, 2}}
    assert received(message) == message
    assert received({"data": to_serialize("text")}, serializers=("msgpack",)) == {"data": "text"}
    many = to_serialize({"rows": [1, "two"]})
    assert received({"data": many}, serializers=("msgpack",)) == {"data": {"rows": (1, "two")}}


@pytest.mark.parametrize("serializers", [None, ("pickle",), ("dask", "pickle")])
def test_pickles_are_not_read(mark: Path, serializers: tuple[str, ...] | None) -> None:
    bomb = Bomb(mark)
    for packed in (ToPickle(bomb), to_serialize(bomb), to_serialize([bomb]), bomb):
        assert NOT_READ in str(received({"data": packed}, serializers=serializers))
    assert received([{"type": pickle.dumps(bomb), b"key": 1}]) == ({"type": NOT_READ, NOT_READ: 1},)
    assert not mark.exists()


def test_the_test_would_notice_code_that_runs(mark: Path) -> None:
    pickle.loads(pickle.dumps(Bomb(mark)))  # noqa: S301 (that is the point)
    assert mark.exists()


def test_names_of_classes_are_not_looked_up() -> None:
    assert received({"colour": Colour.RED}) == {"colour": "RED"}


def test_what_claims_a_harmless_format_but_is_none(mark: Path) -> None:
    """The format that a part claims decides how it is read, so a pickle that claims to be plain is only odd data."""
    packed = Serialized({"serializer": "msgpack"}, [pickle.dumps(Bomb(mark))])
    assert received({"data": packed}) == {"data": NOT_READ}
    nested = Serialized(
        {
            "is-collection": True,
            "type-serialized": "list",
            "sub-headers": [{"serializer": "pickle", "writeable": ()}],
            "frame-lengths": [1],
        },
        [pickle.dumps(Bomb(mark))],
    )
    assert received({"data": nested}) == {"data": NOT_READ}
    assert not mark.exists()


def test_compressed_parts_are_not_expanded() -> None:
    packed = Serialized({"serializer": "msgpack", "compression": ("zlib",)}, [b"x"])
    assert received({"data": packed}) == {"data": NOT_READ}


def test_an_exception_arrives_as_its_text() -> None:
    try:
        raise ValueError("of the device")
    except ValueError as error:
        message = received(error_message(error))
    _, exception, traceback = clean_exception(**message)
    assert (str(exception), traceback) == ("ValueError('of the device')", None)


def test_who_passes_on_reads_nothing(mark: Path) -> None:
    frames = dumps({"data": to_serialize(Bomb(mark)), "text": ToPickle(Bomb(mark))})
    passed = decode(frames, pass_on=True, plain_bytes=PLAIN_BYTES)
    assert isinstance(passed["data"], Serialized)
    assert passed["text"] == NOT_READ
    assert received(passed) == {"data": NOT_READ, "text": NOT_READ}
    assert not mark.exists()


@pytest.mark.parametrize("frames", [[b""], [b"\xc1"], [], [b"\x81\xae__Serialized__\x05"], [b"\x91" * 3000]])
def test_what_is_no_message_is_a_value_error(frames: list[bytes]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (whatever its text)
        decode(frames, pass_on=False, plain_bytes=PLAIN_BYTES)


EMPTY = b"\x80"
"""An empty object in msgpack: a byte that becomes 64."""


def test_what_would_take_too_much_memory_is_no_message() -> None:
    """Neither at once, nor in the descriptions of its parts, of which each may be named again and again."""
    frames = dumps({"data": to_serialize("text")}, serializers=("msgpack",))
    assert isinstance(decode(frames, pass_on=True, plain_bytes=1000)["data"], Serialized)
    array = b"\xdc" + (2000).to_bytes(2, "big") + EMPTY * 2000
    small = b"\xdc" + (200).to_bytes(2, "big") + EMPTY * 200
    described = b"\x82\xaenum-sub-frames\x01\xa1x"
    assert decode([frames[0], described + small, b""], pass_on=True, plain_bytes=1000)
    for hostile in ([array], [frames[0], described + array, b""], [b"\x98" + frames[0] * 8, described + small, b""]):
        with pytest.raises(ValueError, match=TOO_MUCH):
            decode(hostile, pass_on=True, plain_bytes=1000)


def test_the_parts_of_a_message_are_counted() -> None:
    assert [parts(each) for each in ("text", (), {"a": (1, {"b": {2, 3}}), "c": "d"})] == [0, 1, 4]


def test_of_what_a_device_sends_to_a_client_only_a_text_may_be_long() -> None:
    long, honest = "x" * 2000, to_serialize("text")
    array = b"\xdc" + (2000).to_bytes(2, "big") + EMPTY * 2000
    odd = Serialized({"serializer": "msgpack"}, [array])
    nested = {"odd": odd, "long": to_serialize(long), "honest": honest}
    frames = dumps(nested, serializers=("msgpack",))
    assert decode(frames, pass_on=False, plain_bytes=1000) == {"odd": NOT_READ, "long": long, "honest": "text"}
