"""What a study concludes from throughputs must hold in other processes, too."""

from __future__ import annotations

import polars as pl
import pytest

from pytest_ngraph.metrics.between import IN_GENERAL
from pytest_ngraph.report.study.sure import as_good, fastest, is_surely_above_one, pair_in_words
from pytest_ngraph.stats import Estimate

Row = dict[str, float | str | None]


def rate(value: float, low: float | None = None, high: float | None = None, session: str = "") -> Row:
    return {"throughput": value, "throughput_low": low, "throughput_high": high, "session": session}


@pytest.mark.parametrize(
    ("rates", "sure"),
    [
        ([rate(100, 99.9, 100.1), rate(97, 96.9, 97.1)], False),
        ([rate(100, 99.9, 100.1), rate(80, 79.9, 80.1)], True),
        ([rate(100, 99.9, 100.1), rate(80, 79.9, 80.1), rate(97, 96.9, 97.1)], False),
        ([rate(100, 99.9, 100.1), rate(50)], False),
        ([rate(100, 99.9, 100.1)], None),
        ([rate(100, 99.9, 100.1), rate(93, 92.9, 93.1)], True),
        ([rate(100, 99.9, 100.1), rate(93, 92.9, 93.1, "resumed")], False),
    ],
)
def test_the_first_is_sure_if_it_is_above_all_others_by_more_than_processes_differ(
    rates: list[Row], sure: bool | None
) -> None:
    """Alone, it is not compared."""
    schema = {"throughput": pl.Float64, "throughput_low": pl.Float64, "throughput_high": pl.Float64}
    frame = pl.DataFrame(rates[::-1], schema | {"session": pl.String}).with_columns(network=pl.lit("a"))
    found = fastest(frame, ["network"], IN_GENERAL)
    assert found["sure"].to_list() == ([] if sure is None else [sure])
    assert found["throughput"].to_list() == ([] if sure is None else [100])


def test_a_batch_that_gains_less_than_processes_differ_by_is_as_good() -> None:
    rates = [rate(50, 49.9, 50.1), rate(97, 96.9, 97.1), rate(100, 99.9, 100.1)]
    frame = pl.DataFrame(rates).with_columns(pl.lit("a").alias("network"))
    assert as_good(frame, ["network"], IN_GENERAL)["throughput"].to_list() == [100, 97]
    days = frame.with_columns(session=pl.Series(["first", "second", "second"]))
    assert as_good(days, ["network"], IN_GENERAL)["throughput"].to_list() == [100, 97]
    near = days.filter(pl.col("throughput") != 97).with_columns(throughput=pl.Series([93.0, 100.0]))
    assert as_good(near, ["network"], IN_GENERAL)["throughput"].to_list() == [100, 93]
    assert as_good(frame.clear(), ["network"], IN_GENERAL).height == 0


def test_a_gain_must_exceed_what_processes_differ_by() -> None:
    gains = [Estimate(1.03, 1.02, 1.04), Estimate(1.2, 1.19, 1.21), Estimate(0.9, 0.89, 0.91)]
    assert [is_surely_above_one(gain, IN_GENERAL.pair) for gain in gains] == [False, True, False]


def test_by_how_much_processes_differ_is_said_with_its_source() -> None:
    assert pair_in_words(IN_GENERAL).startswith("± 4.5 % at 95 %, as on machines in general")
