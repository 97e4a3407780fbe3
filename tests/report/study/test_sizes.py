"""Sizes of the user's own in the report and in the summary."""

from __future__ import annotations

import polars as pl
import profiled
import pytest
import vl_convert
from drawing import rows
from synthetic import case, measured

from pytest_ngraph.metrics.compute import compute
from pytest_ngraph.record import Record
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import FIGURES
from pytest_ngraph.report.study.figures.theme import PRINTED
from pytest_ngraph.report.study.tables import TABLES
from pytest_ngraph.report.summary import summary
from pytest_ngraph.store import Run


def records() -> list[Record]:
    return [
        measured(
            case(compiler, batch_size, workload="nets:bert", sizes=(("image", image), ("seq_len", length))),
            0.001 * batch_size * length**exponent * image,
        )
        for compiler, exponent in (("identity", 2.0), ("tvm", 1.5))
        for batch_size in (1, 4)
        for image in (224, 384)
        for length in (32, 128)
    ]


@pytest.fixture(scope="module")
def study() -> Study:
    return Study.of([Run(id="one", records=tuple(records()))])


def test_sizes_are_a_column_of_every_table(study: Study) -> None:
    assert study.cases["sizes"].unique().sort().to_list()[:2] == ["image=224,seq_len=128", "image=224,seq_len=32"]
    deploy = TABLES["deploy"](study).frame
    assert deploy["sizes"].n_unique() == 4
    assert TABLES["architectures"](study).missing


def test_the_table_of_growth_has_a_row_for_each_axis(study: Study) -> None:
    frame = TABLES["growth"](study).frame
    own = frame.filter(over="seq_len", compiler="tvm", batch_size=1, sizes="image=224")
    assert own["growth"].to_list() == [pytest.approx(1.5)]
    assert own["growth_mitigation"].to_list() == [pytest.approx(0.5)]
    assert set(frame["over"]) == {"seq_len", "image"}


def test_the_table_of_scaling_has_a_row_for_each_larger_size(study: Study) -> None:
    frame = TABLES["scaling"](study).frame.filter(over="seq_len", compiler="tvm", batch_size=4)
    assert frame["scaling"].to_list() == [pytest.approx(1 / 8)] * 2
    assert set(frame["sizes"]) == {"image=224,seq_len=128", "image=384,seq_len=128"}


def test_the_figure_has_a_panel_for_each_axis_and_its_other_sizes(study: Study) -> None:
    figure = FIGURES["sizes"](study)
    assert vl_convert.vegalite_to_vega(figure.spec(PRINTED))["marks"]
    data = str(figure.spec({}))
    assert "nets:bert-image=224, batch 1, over seq_len on xeon" in data
    assert "nets:bert-seq_len=32, batch 4, over image on xeon" in data


def test_every_table_and_figure_is_made(study: Study) -> None:
    for name, make in (TABLES | FIGURES).items():
        made = make(study)
        assert made.name == name
        assert made.title


def test_without_sizes_the_figure_says_what_it_needs() -> None:
    study = Study.of([Run(id="one", records=(measured(case("tvm"), 0.001),))])
    assert FIGURES["sizes"](study).missing == "needs a workload at two values of a size of its own"


def test_the_summary_names_sizes_and_their_growth() -> None:
    lines = [line.text for line in summary(records(), compute(records()), width=200)]
    assert any("nets:bert, image 224, seq_len 32 on xeon" in line for line in lines)
    growth = next(line for line in lines if "nets:bert-tvm-b1-image=224-xeon over seq_len: 1.5" in line)
    assert "mitigates 0.5" in growth
    assert "samples/s × 0.125" in growth
    assert "at 128" in growth


def test_what_differs_in_such_a_size_has_panels_of_its_own() -> None:
    found = [
        profiled.profiled(
            case(compiler, batch_size, workload="nets:blocks", depth=depth, width=width, sizes=(("seq_len", length),)),
            profiled.stack(depth),
            0.001 * batch_size * depth * length,
        )
        for compiler in ("identity", "tvm")
        for batch_size in (1, 4)
        for depth in (1, 2)
        for width in (8, 16)
        for length in (32, 128)
    ]
    study = Study.of([Run(id="one", records=tuple(found))])
    for name in ("depth", "repeated", "ase_width", "throughput_blocks"):
        panels = rows(name, study).group_by("panel").agg(pl.col("sizes").unique())
        assert {len(sizes) for sizes in panels["sizes"]} == {1}, name
