"""Archives in parts, from the client to the device's disk."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_ngraph.cluster.client import parts
from pytest_ngraph.cluster.device import quiet, task
from pytest_ngraph.cluster.device.arriving import Arriving
from pytest_ngraph.cluster.project import Packed
from pytest_ngraph.errors import NgraphError

PACKED = Packed(digest="d", content=b"archive")


def sent(packed: Packed, takes: int) -> list[tuple[Any, ...]]:
    """Send an archive in parts of three bytes to a device that takes so many of them. Returns what it got."""
    got: list[tuple[Any, ...]] = []

    async def run(function: Any, *arguments: Any) -> bool:
        assert function is task.receive
        got.append(arguments)
        return len(got) <= takes

    asyncio.run(parts.send(run, packed, "client", part_bytes=3))
    return got


def test_what_is_sent_in_parts_arrives_whole(tmp_path: Path) -> None:
    arriving = Arriving(tmp_path / "arriving")
    arriving.add(0, b"left over of another")
    for digest, client, number, count, content in sent(PACKED, takes=3):
        assert (digest, client, count) == ("d", "client", 3)
        arriving.add(number, content)
    with arriving.whole() as archive:
        assert archive.read_bytes() == PACKED.content
    assert list(tmp_path.iterdir()) == []
    assert sent(Packed(digest="e", content=b""), takes=1) == [("e", "client", 0, 1, b"")]


def test_no_further_part_is_sent_to_a_device_that_measures() -> None:
    with pytest.raises(parts.DeviceMeasures):
        sent(PACKED, takes=1)


def test_each_part_has_its_own_time_however_many_there_are() -> None:
    class SlowLoop(asyncio.SelectorEventLoop):
        """A loop on which each part takes 200 s."""

        seconds = 0.0

        def time(self) -> float:
            return self.seconds

    async def run(function: Any, digest: str, sender: str, number: int, count: int, part: bytes) -> bool:
        loop.seconds += 200.0
        for _ in range(5):  # the loop looks whether a time is over
            await asyncio.sleep(0)
        return True

    loop = SlowLoop()
    loop.run_until_complete(parts.send(run, PACKED, "client", part_bytes=1, part_s=300.0))
    assert loop.seconds == 200.0 * len(PACKED.content)
    with pytest.raises(asyncio.TimeoutError, match="part 1 of 3 was not taken within 100 s"):
        loop.run_until_complete(parts.send(run, PACKED, "client", part_bytes=3, part_s=100.0))
    loop.close()


def test_over_a_slow_link_a_part_arrives_before_the_device_measures_for_somebody_else() -> None:
    """Else it is refused, again and again, as long as another client has groups for the device."""
    slow_bytes_per_s = 2**20 / 300
    assert parts.PART_BYTES / slow_bytes_per_s < 0.75 * quiet.LEASE_S


def test_an_archive_that_never_ends_is_refused(tmp_path: Path) -> None:
    arriving = Arriving(tmp_path / "arriving", limit_bytes=4)
    arriving.add(0, b"abc")
    with pytest.raises(NgraphError, match="more than 0 MiB"):
        arriving.add(1, b"def")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_nothing_is_a_message(tmp_path: Path) -> None:
    with pytest.raises(NgraphError, match="cannot be stored"):
        Arriving(tmp_path / "missing" / "arriving").add(0, b"")
