from __future__ import annotations

import dataclasses
import json

import pytest

from pytest_ngraph.comparison import (
    MOST_PRESSURE_PERCENT,
    MOST_STEAL_PERCENT,
    MOST_SWITCHES_PER_S,
    AloneLaunch,
    Build,
    Comparison,
    Launch,
    PairedRound,
    Quad,
    is_contended,
    is_disturbed,
)

QUAD = Quad(base=(1.0, 2.0), head=(4.0, 8.0))


def paired_round(elapsed_s: float = 2.0, **contention: float | None) -> PairedRound:
    return PairedRound(quads=(QUAD,), elapsed_s=elapsed_s, **contention)  # type: ignore[arg-type]  # one is an int


def launch(*elapsed_s: float) -> Launch:
    """A launch with a build for each round, which takes these seconds."""
    builds = tuple(Build(rounds=(paired_round(seconds),)) for seconds in elapsed_s)
    return Launch(builds=builds, iterations=10, fresh=True)


def test_a_quad_lasts_as_long_as_its_four_bursts() -> None:
    assert QUAD.total_s == 15.0


def test_a_launch_has_the_rounds_of_its_builds_in_their_order() -> None:
    assert [each.elapsed_s for each in launch(1.0, 2.0).rounds] == [1.0, 2.0]


def test_seconds_of_measuring_add_up() -> None:
    assert launch(1.0, 2.0).elapsed_s == 3.0
    assert Comparison(launches=(launch(1.0, 2.0), launch(4.0))).elapsed_s == 7.0
    assert Comparison().elapsed_s == 0.0


@pytest.mark.parametrize(
    ("pressure_percent", "steal_percent", "contended"),
    [
        (None, None, False),
        (0.0, 0.0, False),
        (MOST_PRESSURE_PERCENT, MOST_STEAL_PERCENT, False),
        (MOST_PRESSURE_PERCENT + 0.1, None, True),
        (MOST_PRESSURE_PERCENT + 0.1, 0.0, True),
        (None, MOST_STEAL_PERCENT + 0.1, True),
        (0.0, MOST_STEAL_PERCENT + 0.1, True),
    ],
)
def test_cores_are_contended_above_a_limit_of_either_value(
    pressure_percent: float | None, steal_percent: float | None, contended: bool
) -> None:
    assert is_contended(pressure_percent, steal_percent) is contended


@pytest.mark.parametrize(
    ("contention", "disturbed"),
    [
        ({}, False),
        ({"pressure_percent": MOST_PRESSURE_PERCENT + 0.1}, True),
        ({"steal_percent": MOST_STEAL_PERCENT + 0.1}, True),
        ({"involuntary_switches": 2 * MOST_SWITCHES_PER_S}, False),
        ({"involuntary_switches": 2 * MOST_SWITCHES_PER_S + 1}, True),
        ({"involuntary_switches": 2 * MOST_SWITCHES_PER_S + 1, "pressure_percent": 0.0}, False),
        ({"involuntary_switches": 2 * MOST_SWITCHES_PER_S + 1, "steal_percent": 0.0}, True),
    ],
)
def test_a_round_is_disturbed_by_contention_and_without_pressure_by_switches(
    contention: dict[str, float], disturbed: bool
) -> None:
    """The round takes two seconds. Where the kernel reports pressure, switches do not count."""
    assert is_disturbed(paired_round(2.0, **contention)) is disturbed


def test_switches_count_per_second() -> None:
    switches = 2 * MOST_SWITCHES_PER_S
    assert not is_disturbed(paired_round(2.0, involuntary_switches=switches))
    assert is_disturbed(paired_round(1.0, involuntary_switches=switches))


def test_a_comparison_is_read_back_from_json() -> None:
    written = Comparison(
        against="main at 1a2b3c4",
        base="resnet18-identity-b1-cpu",
        placement="apart",
        launches=(launch(1.0, 2.0), dataclasses.replace(launch(4.0), fresh=False)),
        alone=(AloneLaunch(arm="head", compile_s=None, cpu_percent=50.0, worker_memory_bytes=2**20),),
        alone_problem="the process was killed",
        subject="program",
        module=Comparison(placement="apart", subject="module", share=0.5, launches=(launch(3.0),)),
        share=0.5,
        facts={"version": "1"},
    )
    assert Comparison.from_dict(json.loads(json.dumps(written.to_dict()))) == written


def test_a_comparison_from_before_alone_launches_is_read() -> None:
    data = Comparison(same=True).to_dict()
    for name in ("alone", "alone_problem", "subject", "module", "share"):
        del data[name]
    assert Comparison.from_dict(data) == Comparison(same=True)
