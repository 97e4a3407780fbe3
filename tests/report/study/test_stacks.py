"""Figures of blocks, in a study that has no whole model."""

from __future__ import annotations

import vl_convert
from drawing import rows
from synthetic import case, measured

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import FIGURES
from pytest_ngraph.report.study.figures.theme import PRINTED
from pytest_ngraph.store import Run


def blocks(workload: str = "conv", depths: tuple[int, ...] = (1, 4), widths: tuple[int | None, ...] = (16,)) -> Study:
    records = tuple(
        measured(
            case(compiler, batch_size, workload=workload, depth=depth, width=width),
            seconds * depth * batch_size**0.8,
            compile_s=None if compiler == "identity" else 2.0 * depth,
            worker_memory_bytes=(100 + depth) * 2**20,
            cpu_percent=50.0,
        )
        for compiler, seconds in (("identity", 0.02), ("tvm", 0.01))
        for batch_size in (1, 8)
        for depth in depths
        for width in widths
    )
    return Study.of([Run(id="1", environment={}, records=records)])


def test_blocks_alone_have_throughput_cost_and_memory() -> None:
    study = blocks()
    drawn = {name for name, make in FIGURES.items() if not make(study).missing}
    assert drawn >= {
        "throughput_blocks", "compile_blocks", "memory_blocks", "depth", "bsr_depth", "friction", "cpu", "break_even",
        "pareto_memory",
    }  # fmt: skip
    for name in ("throughput_blocks", "compile_blocks", "memory_blocks", "pareto_memory"):
        assert vl_convert.vegalite_to_vega(FIGURES[name](study).spec(PRINTED))["marks"]
    compiled = rows("compile_blocks", study)
    assert compiled.select("depth", "batch_size", "value").sort("batch_size", "depth").rows() == [
        (1, 1, 2.0), (4, 1, 8.0), (1, 8, 2.0), (4, 8, 8.0),
    ]  # fmt: skip
    assert set(rows("memory_blocks", study)["value"]) == {101, 104}
    assert rows("throughput_blocks", study)["panel"].unique(maintain_order=True).to_list() == [
        "conv, width 16, batch 1 on xeon",
        "conv, width 16, batch 8 on xeon",
    ]


def test_models_of_ones_own_with_a_depth_have_them_too() -> None:
    panels = rows("throughput_blocks", blocks("encoder:build", widths=(None,)))["panel"]
    assert panels.unique(maintain_order=True).to_list() == [
        "encoder:build, batch 1 on xeon",
        "encoder:build, batch 8 on xeon",
    ]


def test_one_depth_is_drawn_over_width_or_batch_size() -> None:
    over_width = rows("throughput_blocks", blocks(depths=(1,), widths=(16, 32)))
    assert set(over_width["panel"]) == {"conv, depth 1, batch 1 on xeon", "conv, depth 1, batch 8 on xeon"}
    assert set(rows("throughput_blocks", blocks(depths=(1,)))["panel"]) == {"conv, depth 1, width 16 on xeon"}
