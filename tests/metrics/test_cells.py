from __future__ import annotations

import numpy as np
import pytest
from launched import costs
from synthetic import case, failed, measured, noisy

from pytest_ngraph.metrics import compute
from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.compute import columns_of
from pytest_ngraph.metrics.panels import AT_ONCE, Panels
from pytest_ngraph.record import Record


def a_panel(workload: str, seed: int) -> list[Record]:
    return [
        noisy(case(compiler, size, workload=workload), 0.01 * size, seed=seed + size, rounds=15 + seed % 3)
        for compiler in ("identity", "openvino")
        for size in (1, 8)
    ]


def test_rows_can_be_taken_and_joined() -> None:
    records = [measured(case(batch_size=1), [1.0, 2.0, 3.0]), failed(case(batch_size=2)), measured(case("tvm"), 4.0)]
    cells = Cells.of(records)
    parts = Cells.joined([cells.take(np.array([2, 1])), cells.take(np.array([0]))])
    assert parts.cases == [cells.cases[row] for row in (2, 1, 0)]
    assert parts.rounds.tolist() == [11, 0, 3]
    assert parts.samples.tolist() == [4.0] * 11 + [1.0, 2.0, 3.0]
    assert parts.measured.tolist() == [True, False, True]
    assert parts.latency_s[2].value == 2.0


def test_no_cells_have_no_metrics() -> None:
    nothing = columns_of(Cells.joined([]))
    assert (nothing.wider, nothing.inversions) == ((), ())
    assert len(nothing.by_name["bsr"].estimates.values) == 0


def test_a_panel_is_in_one_chunk_and_every_measured_cell_in_some() -> None:
    records = [record for seed in range(AT_ONCE // 3) for record in a_panel(f"net{seed}", seed)]
    panels = Panels.of(Cells.of(records))
    chunks = [set(rows.tolist()) for rows in panels.chunks()]
    assert len(chunks) > 1
    assert sorted(row for chunk in chunks for row in chunk) == list(range(len(records)))
    for chunk in chunks:
        assert {panels.identity[row] for row in chunk} | {panels.single[row] for row in chunk} <= chunk


@pytest.mark.parametrize("name", ["throughput", "speedup", "bsr", "ase", "break_even"])
def test_metrics_do_not_depend_on_what_else_is_looked_at(name: str) -> None:
    own = a_panel("net0", 0)
    others = [record for seed in range(1, AT_ONCE // 3) for record in a_panel(f"net{seed}", seed)]
    alone, among = compute(own), compute([*others, *own])
    for record in own:
        assert among[record.case][name].estimate == pytest.approx(alone[record.case][name].estimate)


@pytest.mark.parametrize("name", ["speedup", "bsr"])
def test_what_slows_all_arms_of_a_cycle_cancels_in_their_ratio(name: str) -> None:
    def records(cycles: str) -> list[Record]:
        random = np.random.default_rng(1)
        found = []
        for size in (1, 8):
            slow = np.exp(random.normal(0, 0.1, 40))
            for compiler in ("identity", "openvino"):
                own = slow * np.exp(random.normal(0, 0.01, 40))
                found.append(measured(case(compiler, size), own.tolist(), cycles=cycles and f"{cycles}{size}"))
        return found

    in_turn, apart = (compute(records(cycles))[case("openvino", 8)][name].estimate for cycles in ("group", ""))
    assert in_turn is not None
    assert apart is not None
    assert in_turn.value == apart.value
    assert in_turn.width < 0.6 * apart.width


def test_costs_follow_their_rows() -> None:
    records = [measured(case(batch_size=1), 1.0), measured(case(batch_size=2), 1.0, serving=costs(2.0))]
    cells = Cells.of(records)
    parts = Cells.joined([cells, cells.take(np.array([1, 0]))])
    assert sorted(parts.costs) == [1, 2]
    assert parts.costs[1] == parts.costs[2]
