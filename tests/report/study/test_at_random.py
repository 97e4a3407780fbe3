"""What a study concludes for all networks at once is what follows for each by itself, in plain Python."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import polars as pl
import pytest
from synthetic import case, noisy, under_load

import pytest_ngraph.report.study.tables  # noqa: F401  (answers cannot be imported before the tables)
from pytest_ngraph.metrics.between import IN_GENERAL, surely_above
from pytest_ngraph.record import Record
from pytest_ngraph.report.answers import Candidate, answers
from pytest_ngraph.report.study.answers import answered
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.sure import as_good, fastest, throughput
from pytest_ngraph.store import Run


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Return rows whose groups are mixed, with equal throughputs, unknown bounds and two sessions."""
    random = np.random.default_rng(2)
    values = random.choice(np.round(100 * np.exp(random.normal(0, 0.08, 400)), 1), 3000)
    widths = random.choice([0.0, 0.002, 0.02], 3000)
    lows = [None if random.random() < 0.05 else low for low in (values * np.exp(-widths)).tolist()]
    facts = {
        "network": random.integers(0, 700, 3000).astype(str),
        "compiler": random.choice(["a", "b", "c"], 3000),
        "throughput": values,
        "throughput_low": pl.Series(lows, dtype=pl.Float64),
        "throughput_high": values * np.exp(widths),
        "session": random.choice(["one", "two"], 3000, p=(0.9, 0.1)),
    }
    return pl.DataFrame(facts).with_row_index("at")


def grouped(frame: pl.DataFrame) -> list[tuple[list[int], list[bool]]]:
    """Return the rows of each group, the highest first, and whether each is surely below it."""
    groups: dict[str, list[dict[str, object]]] = {}
    for row in frame.iter_rows(named=True):
        groups.setdefault(str(row["network"]), []).append(row)
    found = []
    for own in groups.values():
        own.sort(key=lambda row: -float(str(row["throughput"])))
        best, *others = map(throughput, own)
        below = [False, *surely_above(best, others, IN_GENERAL, sessions=[str(row["session"]) for row in own])]
        found.append(([int(str(row["at"])) for row in own], below))
    return found


def test_rows_as_good_as_the_best_of_their_group(frame: pl.DataFrame) -> None:
    kept = [row for rows, below in grouped(frame) for row, is_below in zip(rows, below, strict=True) if not is_below]
    assert as_good(frame, ["network"], IN_GENERAL)["at"].to_list() == kept
    assert len(kept) < frame.height


def test_the_fastest_of_each_group_of_several(frame: pl.DataFrame) -> None:
    several = [(rows[0], all(below[1:])) for rows, below in grouped(frame) if len(rows) > 1]
    several.sort(key=lambda pair: (-frame["throughput"][pair[0]], pair[0]))
    found = fastest(frame, ["network"], IN_GENERAL)
    assert list(found.select("at", "sure").iter_rows()) == several
    assert {sure for _, sure in several} == {False, True}


def test_answers_leave_out_no_candidate() -> None:
    study = Study.of([Run(id="1", environment={}, records=tuple(records()))])
    measured = study.measured.with_row_index("row")
    rates = study.metric("max_rate")["value"].to_list()
    known = {(each.answer.goal, each.of["label"]): each.answer for each in answered(study)}
    networks = groupby(measured.sort("label", maintain_order=True).iter_rows(named=True), key=lambda row: row["label"])
    count = 0
    for label, own in networks:
        candidates = [
            Candidate(row["compiler"], row["batch_size"], row["objective"], throughput(row), row["row"])
            for row in own
            if row["objective"] != "serving"
        ]
        for answer in answers(candidates, IN_GENERAL):
            found = known[answer.goal, label]
            assert (found.runner_up is None) == (answer.runner_up is None)
            assert [_known_by(each) for each in (found.best, found.runner_up) if each] == [
                _known_by(each) for each in (answer.best, answer.runner_up) if each
            ]
            assert [_known_by(each) for each in found.rivals] == [_known_by(each) for each in answer.rivals]
            count += 1
    served = [each for (goal, _), each in known.items() if goal == "highest rate"]
    assert [each.best.compiler for each in served] == ["tvm"]
    assert max(rate for rate in rates if rate is not None and math.isfinite(rate)) == served[0].best.throughput.value
    assert count + len(served) == len(known)


def records() -> list[Record]:
    """Return the records of networks at several batch sizes; at the smallest one, calls may only run side by side."""
    random = np.random.default_rng(3)
    found = [under_load("tvm", 0.01, 90.0, 92.0, 91.0), under_load("openvino", 0.01, 40.0, 41.0, 42.0)]
    for number in range(12):
        sizes = random.choice([1, 2, 4, 8, 16], 3, replace=False).tolist()
        for compiler in ("identity", "tvm", "openvino", "onnxruntime"):
            for size in sizes[number % 2 :]:
                objective = "throughput" if size == min(sizes) and number % 3 == 0 else "latency"
                of = case(compiler, size, workload=f"net{number}", objective=objective)
                seconds = 0.01 * size**0.9 * float(np.exp(random.normal(0, 0.05)))
                found.append(noisy(of, seconds, seed=len(found)))
    return found


def _known_by(candidate: Candidate[int]) -> tuple[str, int, str, float]:
    return candidate.compiler, candidate.batch_size, candidate.objective, candidate.throughput.value
