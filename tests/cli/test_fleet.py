"""`pytest-ngraph device`: limits, reservations, and what is listed of a machine's health, without a cluster."""

from __future__ import annotations

import argparse
import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import pytest
from cluster.devices import ORIN

from pytest_ngraph.cli import device_limits, fleet, main, parser
from pytest_ngraph.cluster.device.policy import Policy
from pytest_ngraph.cluster.device.quotas import Quotas
from pytest_ngraph.errors import StoreError, UsageError
from pytest_ngraph.machine.health import Health

if TYPE_CHECKING:
    from pytest_ngraph.cluster.client.link import Link
    from pytest_ngraph.cluster.presence import JoinedDevice

START = ["device", "start", "--name=orin", "--scheduler=localhost"]


def test_limits_are_read_and_typed_again() -> None:
    given = ["--max-temperature=85.5", "--min-disk=2GiB", "--keep-results=512MiB"]
    parsed = parser().parse_args([*START, *given])
    assert device_limits.policy(parsed) == Policy(max_temperature_c=85.5, min_disk_bytes=2 * 2**30)
    assert device_limits.quotas(parsed) == Quotas(results_bytes=2**29)
    again = parser().parse_args([*START, *device_limits.as_typed(parsed)])
    assert (device_limits.policy(again), device_limits.quotas(again)) == (
        device_limits.policy(parsed),
        device_limits.quotas(parsed),
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--max-temperature=hot", "'hot' is not a number above 0"),
        ("--min-disk=2", "'2' is not a size. Write it as 8GiB"),
    ],
)
def test_a_limit_that_is_no_limit_is_one_message(capsys: pytest.CaptureFixture[str], option: str, message: str) -> None:
    with pytest.raises(SystemExit):
        main([*START, option])
    assert message in capsys.readouterr().err


def test_how_long_a_device_is_reserved(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["device", "reserve", "orin", "--scheduler=localhost"]
    assert parser().parse_args([*asked, "--for=1.5h"]).seconds == 5400
    for wrong in ("2", "0h", "soon"):
        with pytest.raises(SystemExit):
            parser().parse_args([*asked, f"--for={wrong}"])
        assert f"'{wrong}' is not a time: write it as 30m, 2h or 1d" in capsys.readouterr().err


def test_health_is_listed_in_words() -> None:
    orin = dataclasses.replace(
        ORIN,
        environment={"power": "nvpmodel MAXN"},
        health=Health(temperature_c=63, clock_mhz=1510, governor="schedutil", disk_bytes=3 * 2**30, memory_bytes=2**30),
        clock_skew_s=-90.0,
        reserved_by="anna@head",
        refuses="91 °C, more than 85 °C",
    )
    facts, seen, reserved, refuses = fleet.health_lines(orin)
    assert facts == ("  63 °C, 1510 MHz, governor schedutil, nvpmodel MAXN, 3.0 GiB disk free, 1.0 GiB memory free")
    assert seen.startswith("  last seen ")
    assert seen.endswith(", its clock is 90 s behind")
    assert reserved.startswith("  reserved for anna@head until ")
    assert refuses == "  refuses to measure: 91 °C, more than 85 °C"


@pytest.mark.parametrize(("skew_s", "said"), [(4.9, ""), (5.1, ", its clock is 5 s ahead")])
def test_a_clock_that_is_off_by_a_little_is_not_worth_a_word(skew_s: float, said: str) -> None:
    seen = fleet.health_lines(dataclasses.replace(ORIN, clock_skew_s=skew_s))[-1]
    assert seen.partition(",")[1] + seen.partition(",")[2] == said


def test_devices_are_chosen_by_their_name_or_their_pools() -> None:
    other = dataclasses.replace(ORIN, name="orin-2")
    assert fleet.chosen([ORIN, other], ["orin"]) == [ORIN, other]
    assert fleet.chosen([ORIN, other], ["orin-2"]) == [other]
    with pytest.raises(UsageError, match="unknown device 'orni'"):
        fleet.chosen([ORIN, other], ["orni"])


SILENT = object()


class Fleet:
    """A link to the devices orin-1, orin-2 and so on, each of which answers what the test says, or is silent."""

    user = "anna@head"
    unreadable: ClassVar[dict[str, str]] = {}

    def __init__(self, *answers: Any) -> None:
        self._answers = {f"tcp://{number}": answer for number, answer in enumerate(answers, 1)}

    def present(self) -> list[JoinedDevice]:
        return [
            dataclasses.replace(ORIN, name=f"orin-{number}", address=address)
            for number, address in enumerate(self._answers, 1)
        ]

    def run(self, *arguments: Any, on: Sequence[str]) -> dict[str, Any]:
        return {address: self._answers[address] for address in on if self._answers[address] is not SILENT}


def ran(link: Fleet, *arguments: str) -> int:
    """Run `pytest-ngraph device` with these arguments, connected to this link."""
    asked = argparse.ArgumentParser()
    commands = asked.add_subparsers()

    def add(name: str, function: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=about)
        command.set_defaults(run=function)
        return command

    fleet.declare(add, lambda parsed, role: nullcontext(cast("Link", link)))
    parsed = asked.parse_args(arguments)
    return int(parsed.run(parsed))


@pytest.mark.parametrize("answer", [7, ["anna"], {"by": "anna@head"}, {"by": "anna@head", "until": float("inf")}])
def test_a_device_that_answers_anything_is_named(capsys: pytest.CaptureFixture[str], answer: Any) -> None:
    assert ran(Fleet(answer), "reserve", "orin", "--for=2h") == 1
    assert capsys.readouterr().out.startswith("orin-1 answers what cannot be read: ")


def test_a_device_that_fails_hides_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    link = Fleet(None, StoreError("cannot write reservation.json: disk full."), SILENT, None)
    assert ran(link, "reserve", "orin", "--for=2h") == 1
    first, *others, last = capsys.readouterr().out.splitlines()
    assert first.startswith("orin-1 is reserved for anna@head until ")
    assert others == ["orin-2 failed: cannot write reservation.json: disk full.", "orin-3 does not answer"]
    assert last.startswith("orin-4 is reserved for anna@head until ")
    assert ran(link, "release", "orin") == 1
    assert capsys.readouterr().out.splitlines() == ["orin-1 is not reserved", *others, "orin-4 is not reserved"]
    assert ran(Fleet(None, None), "release", "orin") == 0


def test_until_when_others_have_reserved_a_device_whose_clock_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    class Ahead(Fleet):
        def present(self) -> list[JoinedDevice]:
            return [dataclasses.replace(each, clock_skew_s=3600.0) for each in super().present()]

    until = time.mktime((2026, 11, 29, 12, 30, 0, 0, 0, -1))
    assert ran(Ahead({"by": "ben@head", "until": until + 3600.0}), "reserve", "orin", "--for=2h") == 1
    assert capsys.readouterr().out == "orin-1 is reserved for ben@head until 2026-11-29 12:30\n"


def test_metrics_in_a_file_can_be_read_by_their_collector(tmp_path: Path) -> None:
    """It runs as another user."""
    before = os.umask(0o077)
    try:
        assert ran(Fleet(None), "metrics", f"--output={tmp_path / 'devices.prom'}") == 0
    finally:
        os.umask(before)
    assert (tmp_path / "devices.prom").stat().st_mode & 0o777 == 0o644
    assert 'device="orin-1"' in (tmp_path / "devices.prom").read_text()
