"""Rows of the comparison's tables, from made-up readings."""

from __future__ import annotations

import pytest
from comparing import arms, page, parity, records, sessions, spread, stopping, sweep, trials
from comparing.child import Failed
from comparing.sessions import Cost
from comparing.sweep import Shares
from comparing.trials import Reading, Trials
from synthetic import case, failed, measured, skipped

from pytest_ngraph.case import Objective
from pytest_ngraph.record import Record, Warmup
from pytest_ngraph.store import Run


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of a Markdown table's rows, without those of its heading."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def readings(*seconds: float, measured_s: float = 1.0) -> list[list[Reading]]:
    return [[Reading(each, measured_s, 2 * measured_s) for each in seconds]]


def test_spread_compares_ours_with_each() -> None:
    steady, loose = readings(0.99, 1.0, 1.01), readings(1.0, 2.0, 3.0)
    found = Trials({arms.OURS: loose, "steady": steady, "loose": loose}, {"optimum": "no network"})
    text = spread.report(trials.cases(["net"], 1), found)
    network, together, seconds, ratios = rows_of(text)
    assert network == ["net-b1-cpu", "50.00 %", "1.00 %", "50.00 %"]
    assert together[1:] == network[1:]
    assert seconds[1:] == ["1.0"] * 3
    assert ratios[1] == "1"
    assert [each.split()[0] for each in ratios[2:]] == ["50", "1"]
    assert "optimum is left out: no network." in text


def test_a_rule_is_held_to_the_median_of_the_long_runs() -> None:
    late = [[Reading(1.02, 4.0, 8.0)] * 4 + [Reading(1.0, 4.0, 8.0), Reading(0.995, 9.0, 14.0)]]
    found = Trials(
        {
            f"{arms.OURS}, 1 %": readings(*[1.0] * 6, measured_s=2.0),
            "other": late,
            stopping.TRUTH: readings(0.5, 1.0, 1.0, 1.0, 1.0, 9.0),
        },
        {},
    )
    ours, other = rows_of(stopping.report(trials.cases(["net"], 1), found))
    assert ours[2:] == ["2.00", "2.00", "4.00", "+0.00 %", "+0.00 %", "100%", "100%", "1.00"]
    assert other[2:] == ["4.00", "9.00", "8.00", "+2.00 %", "+2.00 %", "33%", "67%", "0.50 [0.22, 0.50]"]


def test_without_a_truth_there_is_the_reason_alone() -> None:
    found = Trials({"other": readings(1.0)}, {stopping.TRUTH: "no module named timm"})
    assert stopping.report(trials.cases(["net"], 1), found) == "truth is left out: no module named timm."


def test_shares_of_a_sweep_are_what_its_records_say() -> None:
    warmup = Warmup(iterations=3, elapsed_s=1.5, steady=True)
    found: list[Record] = [
        measured(case("identity"), 0.5, rounds=4, load_s=100.0, warmup=warmup),
        measured(case("openvino"), 0.25, rounds=4, load_s=3.0, warmup=warmup),
        failed(case("tvm")),
        skipped(case("tensorrt"), "no GPU"),
    ]
    shares = Shares.of(Run(id="", records=tuple(found)), wall_s=18.0)
    assert shares == Shares(cases=3, measured=2, wall_s=18.0, compiling_s=3.0, warming_up_s=3.0, rounds_s=3.0)
    assert sweep.row("cold", shares) == ["cold", "3", "2", "18.0", "3.00", "3.00", "3.00", "50%", "3.00"]


def test_costs_of_records_end_with_their_slope() -> None:
    row = records.row("gate", [100, 1000], [(0.5, 100.4), (5.0, 200.0)])
    assert row == ["gate", "0.500 s, 100 MiB", "5.00 s, 200 MiB", "1.00"]
    assert records.row("gate", [100], [(0.5, 100.0)])[-1] == ""
    assert records.row("gate", [100, 1000, 10_000], [(0.5, 100.4), (5.0, 200.0)])[-2:] == ["–", "1.00"]


def test_costs_of_cases_are_those_beyond_the_first_session() -> None:
    ours = [Cost(1.0, 50, 60), Cost(2.8, 50, 60), Cost(20.8, 51, 60)]
    theirs = [Cost(0.5, 40, 0), Cost(0.59, 40, 0), Cost(10.49, 40, 0)]
    text = sessions.report([10, 100, 1000], ours, theirs)
    first, second, third = rows_of(text)
    assert first == ["10", "1.00", "–", "50", "60", "0.500", "–", "40"]
    assert (second[2], third[2]) == ("20.0", "20.0")
    assert (second[6], third[6]) == ("1.00", "10.1")
    assert "a slope of 1.00 in logarithms" in text
    faster_by_chance = sessions.report([10, 100, 1000], theirs[::-1], ours)
    assert [row[2] for row in rows_of(faster_by_chance)] == ["–"] * 3
    assert "slope" not in faster_by_chance


@pytest.mark.parametrize(
    ("median", "objective", "seconds"),
    [("12.5 ms", "latency", 0.0125), ("216.74 us", "latency", 0.00021674), ("12.5 ms", "throughput", 0.005)],
)
def test_times_of_benchmark_app_are_read_in_their_units(median: str, objective: Objective, seconds: float) -> None:
    printed = f"[ INFO ] Count:     400 iterations\n[ INFO ] Duration:  2000.0 ms\n[ INFO ]    Median:  {median}\n"
    assert parity.printed_seconds(printed, objective) == pytest.approx(seconds)


def test_a_benchmark_app_that_prints_no_time_has_failed() -> None:
    with pytest.raises(Failed, match="unknown argument"):
        parity.printed_seconds("usage\nunknown argument\n", "latency")


def test_an_unknown_part_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        page.parser("", ["cases", "records"]).parse_args(["--parts=cases,sweep"])
    assert "unknown part sweep. Known: cases, records." in capsys.readouterr().err
