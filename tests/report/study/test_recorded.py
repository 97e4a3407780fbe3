"""Outlines, of which some records at a time are read, show the same as runs whose records are all in memory."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import formula
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal
from synthetic import case, failed, noisy, skipped

from pytest_ngraph import store
from pytest_ngraph.artifact import Model
from pytest_ngraph.case import Case
from pytest_ngraph.costs import Costs
from pytest_ngraph.record import Agreement, Record
from pytest_ngraph.report import study
from pytest_ngraph.report.study import columns, kept
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import Figure, files
from pytest_ngraph.store import SCHEMA

CASES = [
    case(compiler, size, device=device, **fields)
    for device in ("xeon", "gpu")
    for compiler in ("identity", "tvm")
    for size in (1, 4)
    for fields in ({}, {"workload": "conv", "depth": 1, "width": 64}, {"sizes": (("seq_len", 8),)})
]
FRAMES = ("cases", "metrics", "wider", "inversions", "machines", "records", "loads", "before")


def drawn(each: Case) -> st.SearchStrategy[Record]:
    """Return records of a case that ended in any way."""
    started_at = st.sampled_from([0.0, 1.0, 2.5])
    measured = st.builds(
        noisy,
        st.just(each),
        st.floats(1e-3, 1.0),
        rounds=st.sampled_from([1, 5, 7]),
        seed=st.integers(0, 9),
        started_at=started_at,
        cpu_percent=st.none() | st.floats(0.0, 100.0),
        compile_s=st.none() | st.floats(0.1, 9.0),
        calls=st.just(()) | st.lists(st.floats(1e-3, 1.0), min_size=60, max_size=70).map(tuple),
        agreement=st.none() | st.just(Agreement(error=0.3, tolerance=1e-4, problem="output 0 differs by 0.3")),
        serving=st.none() | st.just(Costs(artifact_bytes=5)),
        profile=st.just({}) | st.just({"problem": "no profiler"}),
        cycles=st.sampled_from(["", "one"]),
        model=st.builds(Model, parameters=st.none() | st.integers(1, 10**9)),
        follows_from=st.just({}) | st.just({"graph": "g", "machine": "m"}),
    )
    others = st.sampled_from([failed(each), skipped(each, "no such operator")])
    return measured | st.builds(dataclasses.replace, others, started_at=started_at)


@st.composite
def journals(draw: st.DrawFn) -> bytes:
    """Return a journal of some records, which may end within a line."""
    environment = {"fingerprint": draw(st.sampled_from(["one", "two"])), "processor": "Xeon"}
    chosen = draw(st.lists(st.sampled_from(CASES).flatmap(drawn), min_size=1, max_size=12))
    data = [{"schema": SCHEMA, "run": "r", "environment": environment}, *(each.to_dict() for each in chosen)]
    text = b"".join(json.dumps(each).encode() + b"\n" for each in data)
    return text[: len(text) - draw(st.sampled_from([0, 0, 1, 50]))]


def assert_same(one: Study, other: Study) -> None:
    for name in FRAMES:
        assert_frame_equal(getattr(one, name), getattr(other, name))
    no_rounds = pl.DataFrame(schema=columns.ROUNDS)
    assert_frame_equal(*(pl.concat([no_rounds, *each.rounds.frames(2)]) for each in (one, other)))
    assert_series_equal(one.deviations, other.deviations, check_names=False)
    for name in ("profiles", "unprofiled", "between", "warnings"):
        assert getattr(one, name) == getattr(other, name)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(written=st.lists(journals(), min_size=1, max_size=3), at_once=st.integers(1, 5))
def test_outlines_show_what_all_records_show(
    tmp_path_factory: pytest.TempPathFactory, written: list[bytes], at_once: int
) -> None:
    folder = tmp_path_factory.mktemp("store")
    names = [f"2026010{number}-000000-1" for number in range(len(written))]
    for name, text in zip(names, written, strict=True):
        (folder / f"{name}.jsonl").write_bytes(text)
    whole = Study.of([store.read(folder, name) for name in names])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "AT_ONCE", at_once)
        patch.setattr(kept, "WORTH_KEEPING_ONCE_READ", 1)
        for _ in range(2):  # the second time from the rows that the first one keeps
            assert_same(Study.of(store.outlined(folder, name) for name in names), whole)


def test_a_report_of_outlines_has_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are written as their specifications, from which everything else in their files follows."""
    monkeypatch.setattr(kept, "AT_ONCE", 100)
    monkeypatch.setattr(files, "write_one", _write_specification)
    folder = tmp_path / "store"
    for run in formula.runs():
        formula.write(run, folder)
    names = store.run_ids(folder)
    one, other = tmp_path / "one", tmp_path / "other"
    for each in (one, other):
        study.check(each)
    study.write(Study.of(store.read(folder, name) for name in names), one)
    study.write(Study.of(store.outlined(folder, name) for name in names), other)
    written = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert written == sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file())
    assert len(written) > 50
    for path in written:
        assert (one / path).read_bytes() == (other / path).read_bytes(), path


def _write_specification(figure: Figure, folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{figure.name}.json"
    path.write_text(json.dumps([figure.heading, figure.note, figure.left_out, figure.spec({})]))
    return [path]


def test_each_metric_is_a_part_of_all(synthetic: Study) -> None:
    every = synthetic.metrics
    for names in (["speedup"], ["friction", "bsr"], ["no such metric"], every["metric"].unique().to_list()):
        assert_frame_equal(synthetic.metric(*names), every.filter(pl.col("metric").is_in(names)))
