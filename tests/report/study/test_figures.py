from __future__ import annotations

import io
from pathlib import Path

import formula
import polars as pl
import profiled
import pytest
import vl_convert
from drawing import UNDRAWN, colours, hostile_study, rows
from launched import costs
from synthetic import case, measured, noisy

from pytest_ngraph.case import Case
from pytest_ngraph.explain.blocks import seconds_of_blocks
from pytest_ngraph.record import Record
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import FIGURES
from pytest_ngraph.report.study.figures import rows as drawn
from pytest_ngraph.report.study.figures.files import write
from pytest_ngraph.report.study.figures.pareto import on_front
from pytest_ngraph.report.study.figures.theme import ON_PAGE, PRINTED
from pytest_ngraph.store import Run


def study_of(*records: Record, before: tuple[Record, ...] = ()) -> Study:
    earlier = [Run(id="0", environment={}, records=before)] if before else []
    return Study.of([Run(id="1", environment={}, records=records)], earlier)


def one(frame: pl.DataFrame, **values: object) -> dict[str, object]:
    (row,) = frame.filter(**values).rows(named=True)
    return row


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_compiles_or_says_what_is_missing(name: str, synthetic: Study) -> None:
    full, empty = FIGURES[name](synthetic), FIGURES[name](Study())
    assert full.name == empty.name == name
    assert empty.chart is None
    assert empty.missing
    if name in UNDRAWN:
        assert full.missing
    else:
        assert vl_convert.vegalite_to_vega(full.spec(PRINTED))["marks"]


def test_a_figure_without_data_has_no_specification() -> None:
    with pytest.raises(ValueError, match="throughput has no chart: needs a measured model"):
        FIGURES["throughput"](Study()).spec(ON_PAGE)


def test_a_compiler_has_one_colour_in_every_figure(synthetic: Study) -> None:
    seen = {pair for name in FIGURES if name not in UNDRAWN for pair in colours(FIGURES[name](synthetic).spec({}))}
    assert {compiler for compiler, _ in seen} == set(synthetic.cases["compiler"])
    assert len(seen) == len(set(synthetic.cases["compiler"]))


def test_throughput_of_the_formula(synthetic: Study) -> None:
    of = Case(workload="resnet50", compiler="openvino", batch_size=8, device="xeon")
    row = one(rows("throughput", synthetic), label="resnet50", compiler="openvino", batch_size=8, device="xeon")
    assert row["value"] == pytest.approx(8 / formula.latency_s(of), rel=1e-4)
    assert row["low"] < row["value"] < row["high"]  # type: ignore[operator]
    assert row["panel"] == "resnet50 on xeon"


def test_panels_are_a_row_for_each_size_and_a_column_for_each_family(synthetic: Study) -> None:
    chart = FIGURES["throughput"](synthetic).spec({})
    panels = rows("throughput", synthetic, device="xeon").sort("panel_order")["label"].unique(maintain_order=True)
    assert chart["columns"] == 5
    assert panels.to_list()[:6] == [
        "resnet18", "efficientnet_b3", "deit3_small_patch16_224", "swin_s3_tiny_224", "convnext_tiny", "resnet50",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("multiplier", 2.5 * 16 ** (0.9 - 0.6)),
        ("ase", 16**-0.6),
        ("bsr", 16 ** (0.9 - 0.6)),
    ],
)
def test_ratios_of_the_formula(name: str, expected: float, synthetic: Study) -> None:
    row = one(rows(name, synthetic), label="resnet18", compiler="tensorrt", batch_size=16, device="orin")
    assert row["value"] == pytest.approx(expected, rel=1e-4)


def test_depth_shows_the_slope_of_the_formula(synthetic: Study) -> None:
    stack = rows("depth", synthetic, label="mha", width=128, compiler="onnxruntime", batch_size=1, device="gpu")
    assert stack.select("depth", "value").rows() == [
        (depth, pytest.approx(1.1 + 0.25 * (depth - 1), rel=1e-4)) for depth in (1, 2, 3, 6)
    ]


def test_cpu_is_the_mean_of_a_family_and_its_reduction(synthetic: Study) -> None:
    family = rows("cpu", synthetic, family="Swin", compiler="tensorrt", batch_size=4, device="orin")
    assert one(family, quantity="CPU use")["value"] == pytest.approx(12 / (3 * 2), rel=1e-4)
    assert one(family, quantity="reduction against identity")["value"] == pytest.approx(100 * (1 - 1 / 3), rel=1e-4)


def test_whiskers_of_cpu_run_from_the_least_model_to_the_greatest() -> None:
    models = [
        measured(case("identity", workload=workload), 0.1, cpu_percent=percent)
        for workload, percent in (("resnet18", 10.0), ("resnet50", 40.0))
    ]
    row = one(rows("cpu", study_of(*models)), quantity="CPU use")
    assert (row["value"], row["low"], row["high"]) == (25, 10, 40)


def test_break_even_of_the_formula_and_never(synthetic: Study) -> None:
    shown = rows("break_even", synthetic, device="xeon", batch_size=1)
    identity, openvino = (
        formula.latency_s(Case(workload="resnet18", compiler=name, batch_size=1, device="xeon"))
        for name in ("identity", "openvino")
    )
    paid_back = one(shown, label="resnet18", compiler="openvino")
    assert paid_back["value"] == pytest.approx(5.0 / (identity - openvino), rel=1e-4)
    never = one(shown, label="deit3_small_patch16_224", compiler="torchscript")
    assert (never["value"], never["never"]) == (None, True)


def test_friction_of_the_formula(synthetic: Study) -> None:
    row = one(rows("friction", synthetic), network="resnet18", compiler="tvm")
    assert row["value"] == pytest.approx(1.05, rel=1e-4)


def test_width_is_shown_at_the_least_depth(synthetic: Study) -> None:
    shown = rows("ase_width", synthetic)
    assert set(shown["depth"]) == {1}
    cell = one(shown, label="conv", width=96, compiler="identity", batch_size=8, device="orin")
    assert cell["value"] == pytest.approx(8**-0.9, rel=1e-4)
    assert str(cell["text"]) == "0.15"


def test_resilience_of_blocks_is_shown_at_three_depths(synthetic: Study) -> None:
    assert rows("bsr_depth", synthetic)["depth"].unique().sort().to_list() == [1, 3, 6]


def test_the_front_holds_what_nothing_beats_in_both() -> None:
    choices = pl.DataFrame(
        {"panel": ["a"] * 4 + ["b"], "cost": [1.0, 2.0, 2.0, 3.0, 9.0], "value": [5.0, 7.0, 6.0, 7.0, 1.0]}
    )
    assert on_front(choices).filter("front").select("panel", "cost", "value").rows() == [
        ("a", 1.0, 5.0), ("a", 2.0, 7.0), ("b", 9.0, 1.0),
    ]  # fmt: skip


def test_memory_is_the_accelerators_where_there_is_one(synthetic: Study) -> None:
    shown = rows("pareto_memory", synthetic, label="resnet18", compiler="identity", batch_size=1)
    parameters = 4 * 11_689_512 / 2**20
    assert one(shown, device="gpu")["cost"] == 108
    assert one(shown, device="xeon")["cost"] == pytest.approx(parameters + 200 + 10 + 40, rel=1e-4)


@pytest.mark.parametrize(("name", "cost"), [("pareto_serving", 100), ("pareto_cold_start", 0.5)])
def test_costs_to_serve_are_drawn_where_they_were_measured(name: str, cost: float) -> None:
    study = study_of(measured(case("openvino"), 0.01, serving=costs()), measured(case("identity"), 0.02))
    assert one(rows(name, study), compiler="openvino")["cost"] == cost
    assert rows(name, study).height == 1
    assert vl_convert.vegalite_to_vega(FIGURES[name](study).spec(PRINTED))["marks"]


def test_reversals_are_of_models_under_identity_and_a_compiler(synthetic: Study) -> None:
    bars = rows("reversals", synthetic)
    assert bars["panel"].n_unique() == 6
    for panel in bars.partition_by("panel"):
        first, second, first_compiled, second_compiled = panel["value"]
        assert panel["bar_compiler"].to_list()[:2] == ["identity", "identity"]
        assert first > second
        assert first_compiled < second_compiled
        assert not any(name.startswith(("conv-", "mha-")) for name in panel["network"])


def test_inversions_exclude_a_tie_and_the_strongest_comes_first(synthetic: Study) -> None:
    ends = rows("inversions", synthetic)
    pairs = [pair["value"].to_list() for pair in ends.partition_by("pair", maintain_order=True)]
    assert len(pairs) == 30
    assert all(before > 1 > after for before, after in pairs)
    weaker = [min(before, 1 / after) for before, after in pairs]
    assert weaker == pytest.approx(sorted(weaker, reverse=True), rel=0.01)


def test_changes_compare_cell_by_cell() -> None:
    alone = (measured(case("tvm", size), 0.2) for size in (1, 4, 16))
    before = (*alone, noisy(case("tvm", 2), 0.2, spread=0.2))
    after = (
        measured(case("tvm", 1), 0.25),
        measured(case("tvm", 16), 0.20004),
        noisy(case("tvm", 2), 0.2, spread=0.2, seed=1),
        measured(case("tvm", 8), 0.2),
    )
    shown = rows("changes", study_of(*after, before=before))
    assert one(shown, batch_size=1)["text"] == "-20.0"
    assert str(one(shown, batch_size=2)["text"]).startswith("(")
    assert one(shown, batch_size=16)["text"] == "0.0"
    assert shown.height == 3


def test_few_panels_are_drawn_of_many_and_the_figure_says_so() -> None:
    many = [measured(case("identity", workload=f"net{number}"), 0.1) for number in range(drawn.MOST_PANELS + 5)]
    figure = FIGURES["throughput"](study_of(*many, measured(case("identity", 2, workload="net49"), 0.1)))
    assert figure.left_out.startswith("Only 45 of 50 are drawn")
    assert "records.parquet" in figure.left_out


def test_values_that_span_decades_get_a_logarithmic_axis() -> None:
    slow = [measured(case("identity"), 1.0), measured(case("tvm"), 0.5)]
    fast = [measured(case("identity"), 1.0), measured(case("tvm"), 0.01)]
    scales = [str(FIGURES["throughput"](study_of(*records)).spec({})).count("'log'") for records in (slow, fast)]
    assert scales[0] == 0
    assert scales[1] > 0


def test_too_few_rounds_draw_a_point_without_an_interval() -> None:
    row = one(rows("throughput", study_of(measured(case("identity"), 0.1, rounds=3))))
    assert row["value"] == 10
    assert row["low"] is row["high"] is None


def test_files_of_a_figure_show_hostile_names_as_text(tmp_path: Path) -> None:
    figures = [make(hostile_study()) for make in FIGURES.values()]
    written = write(figures, tmp_path)
    assert {path.suffix for path in written} == {".svg", ".png", ".pdf"}
    assert len(written) == 3 * sum(figure.chart is not None for figure in figures)
    svg = (tmp_path / "throughput.svg").read_text()
    assert "alert" in svg
    assert "<script" not in svg
    assert "<b>" not in svg


def test_widths_of_the_users_own_model_have_panels_of_their_own() -> None:
    own = [measured(case("tvm", workload="encoder:build", width=width), 1.0) for width in (32, 64)]
    assert rows("throughput", study_of(*own))["panel"].to_list() == [
        "encoder:build-w32 on xeon",
        "encoder:build-w64 on xeon",
    ]


def test_depths_of_blocks_without_a_width_have_panels_by_batch_size() -> None:
    records = [
        measured(case(compiler, size, workload="conv", depth=depth), 1.0)
        for compiler in ("identity", "tvm")
        for size in (1, 8)
        for depth in (1, 2)
    ]
    assert set(rows("depth", study_of(*records))["panel"]) == {"conv, batch 1 on xeon", "conv, batch 8 on xeon"}


def test_tails_over_the_middle() -> None:
    slow = tuple([0.01] * 980 + [0.05] * 20)
    study = study_of(measured(case("tvm"), 0.01, calls=slow), measured(case("identity"), 0.01, calls=(0.01,) * 100))
    found = rows("tails", study)
    assert found["compiler"].to_list() == ["tvm"], "p99 takes more calls than those of identity"
    assert found["value"].to_list() == [pytest.approx(5.0)]
    assert found["panel"].to_list() == ["xeon, batch 1"]


@pytest.mark.parametrize("compilers", [1, 2, 8])
def test_parts_of_profiled_cases_have_a_panel_for_each_workload(compilers: int) -> None:
    figure = FIGURES["parts"](profiled.study([*profiled.SPEED][:compilers]))
    spec = figure.spec(PRINTED)
    assert vl_convert.vegalite_to_vega(spec)["marks"]
    assert [panel["title"]["text"] for panel in spec["concat"]] == [
        ["resnet18", "batch 1 on xeon"],
        ["conv-d4-w64", "batch 1 on xeon"],
        ["huge", "batch 1 on xeon"],
        ["long", "batch 8 on xeon"],
        ["opaque", "batch 1 on xeon, by operator"],
    ]
    for panel in spec["concat"]:
        scale = panel["layer"][0]["encoding"]["color"]["scale"]
        assert len(set(scale["domain"])) == len(scale["domain"]) == len(set(scale["range"])) <= 20


def test_the_bars_of_parts_are_as_long_as_the_calls() -> None:
    study = profiled.study(["identity", "openvino"])
    spec = FIGURES["parts"](study).spec({})
    bars = pl.read_csv(io.StringIO(spec["datasets"][spec["concat"][2]["data"]["name"]]))
    lengths = bars.group_by("bar", maintain_order=True).agg(pl.col("ms").sum(), pl.col("call_ms").first())
    assert lengths["bar"].to_list() == ["identity  95 %", "openvino  95 %"]
    assert lengths["ms"].to_list() == pytest.approx([400.0, 140.0], rel=1e-3)
    assert lengths["call_ms"].to_list() == [400.0, 140.0]


def test_repeated_blocks_have_their_own_time_and_their_share_of_the_call() -> None:
    study = profiled.study(["openvino"])
    of = "conv-openvino-b1-d4-w64-xeon"
    block, call = rows("repeated", study, depth=4).sort("quantity").iter_rows(named=True)
    seconds = seconds_of_blocks(study.profiles[of], 4)
    assert block["value"] == pytest.approx(1e3 * sum(seconds) / 4, rel=1e-4)
    assert (block["low"], block["high"]) == pytest.approx((1e3 * min(seconds), 1e3 * max(seconds)), rel=1e-4)
    assert (call["quantity"], call["value"]) == ("whole call over depth", pytest.approx(1e3 * 0.05 * 0.35 / 4))


def test_one_depth_shows_no_repetition() -> None:
    one_depth = study_of(profiled.profiled(case(workload="conv", depth=1, width=64), profiled.stack(1), 0.1))
    assert FIGURES["repeated"](one_depth).missing
