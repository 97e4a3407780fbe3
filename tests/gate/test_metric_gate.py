from __future__ import annotations

import math

import numpy as np
import pytest
from changing import MAIN, Base, known
from launching import Machine
from synthetic import case, failed, measured

from pytest_ngraph.case import Case
from pytest_ngraph.gate import Rule, Threshold
from pytest_ngraph.gate.changes import Reading
from pytest_ngraph.gate.decision import weigh
from pytest_ngraph.gate.metric_gate import MetricGate, gated
from pytest_ngraph.gate.pooling import EXACTLY_EQUAL, Pooled, combine
from pytest_ngraph.metrics import Metrics, compute
from pytest_ngraph.record import Record

TVM, IDENTITY = {size: case("tvm", size) for size in (1, 8)}, {size: case("identity", size) for size in (1, 8)}
CASES = [*IDENTITY.values(), *TVM.values()]
SAME = dict.fromkeys(CASES, EXACTLY_EQUAL)


def records(seconds: float = 0.1) -> list[Record]:
    return [measured(each, seconds * each.batch_size**0.5) for each in CASES]


def held(*texts: str, base: Base, own: Case | None = None) -> MetricGate:
    gate = MetricGate(base)
    gate.expect(gated([(Threshold.parse(text), own) for text in texts], CASES))
    return gate


def concluded(gate: MetricGate, metrics: Metrics | None = None) -> dict[str, str]:
    gate.conclude(compute(records()) if metrics is None else metrics)
    return {f"{each.threshold} {each.scope.id}": each.name for each in gate.verdicts}


def test_a_metric_is_judged_by_what_all_of_its_cells_did() -> None:
    """Each of the cells is 4 % off, and together they are 17 %."""
    off = {TVM[8]: 0.04, TVM[1]: -0.04, IDENTITY[8]: -0.04, IDENTITY[1]: 0.04}
    gate = held("bsr:10%", base=Base(times={each: known(by) for each, by in off.items()}))
    assert concluded(gate) == {"bsr:10% resnet18-tvm-b8-xeon": "regressed"}
    (found,) = gate.verdicts
    assert found.change
    assert found.change.value == pytest.approx(math.exp(-0.16))
    assert found.head == 1
    assert found.base == pytest.approx(math.exp(0.16))
    assert found.change.high < 0.9
    assert found.details == {}
    assert found.text.startswith(f"bsr:10% regressed: resnet18-tvm-b8-xeon has bsr 1.00, {MAIN} 1.17: -14.8 % (98 % ")


@pytest.mark.parametrize(
    ("text", "by", "expected"),
    [
        ("throughput:5%", 0.2, "regressed"),
        ("throughput:5%", -0.2, "improved"),
        ("throughput:5%", 0.03, "unchanged"),
        ("throughput:5%", 0.05, "inconclusive"),
        ("latency:5%", 0.2, "regressed"),
        ("latency:5%", -0.2, "improved"),
        ("speedup:5%", 0.2, "regressed"),
    ],
)
def test_worse_is_by_the_direction_of_the_metric(text: str, by: float, expected: str) -> None:
    gate = held(f"{text} if compiler=tvm and b=8", base=Base(times=SAME | {TVM[8]: known(by)}))
    assert list(concluded(gate).values()) == [expected]


@pytest.mark.parametrize(("by", "expected"), [(0.2, "regressed"), (-0.2, "improved"), (0.01, "unchanged")])
def test_friction_changes_by_a_difference(by: float, expected: str) -> None:
    gate = held("friction:0.05 if compiler=tvm", base=Base(times=SAME | {TVM[8]: known(by)}))
    assert concluded(gate) == {"friction:0.05 if compiler=tvm resnet18-tvm-xeon": expected}
    (found,) = gate.verdicts
    assert found.change
    assert found.change.value == pytest.approx(by / math.log(8))
    assert found.head
    assert found.base == pytest.approx(found.head - found.change.value)


def test_what_starts_from_the_same_graph_is_unchanged_exactly() -> None:
    gate = held("bsr:0%", "throughput:0%", "friction:0", base=Base(times=SAME))
    assert set(concluded(gate).values()) == {"unchanged"}
    assert all(each.head == each.base and "same graph" in each.text for each in gate.verdicts)


def test_what_the_base_lacks_is_new() -> None:
    gate = held("bsr:5%", base=Base(times={each: by for each, by in SAME.items() if each != TVM[1]}))
    assert concluded(gate) == {"bsr:5% resnet18-tvm-b8-xeon": "new"}
    assert f"{MAIN} does not have it" in gate.verdicts[0].text


def test_what_the_head_lacks_is_not_judged() -> None:
    broken = [failed(TVM[8]) if each.case == TVM[8] else each for each in records()]
    gate = held("bsr:5%", "compile_s:5% if b=8", "throughput:5% if compiler=tvm", base=Base(times=SAME))
    assert concluded(gate, compute(broken)) == {"throughput:5% if compiler=tvm resnet18-tvm-b1-xeon": "unchanged"}


def test_a_case_is_judged_as_soon_as_its_cells_are_there() -> None:
    gate = held("bsr:5%", "throughput:5%", base=Base(times=SAME | {TVM[8]: known(0.3)}))
    early = compute([each for each in records() if each.case != IDENTITY[8]])
    assert [(str(v.threshold), v.name) for v in gate.judge(TVM[8], early)] == [("throughput:5%", "regressed")]
    assert {str(v.threshold): v.name for v in gate.judge(TVM[8], compute(records()))} == {
        "throughput:5%": "regressed",
        "bsr:5%": "regressed",
    }


def test_a_case_has_its_own_thresholds_to_itself() -> None:
    gate = held("throughput:5%", "friction:0.1", base=Base(times=SAME), own=TVM[8])
    assert list(concluded(gate)) == ["throughput:5% resnet18-tvm-b8-xeon"]
    assert gate.holds(TVM[8])
    assert not gate.holds(TVM[1])


def test_metrics_have_a_part_in_the_level_of_the_cases() -> None:
    base = Base(times=SAME)
    held("throughput:5%", "bsr:5%", base=base)
    assert base.reserved == 5
    crowd = Base(times=SAME | {TVM[8]: known(0.07)}, rule=Rule(cells=10**6))
    assert list(concluded(held("throughput:5% if b=8 and compiler=tvm", base=crowd)).values()) == ["inconclusive"]


def test_readings_are_of_launches_alone() -> None:
    more = Reading(2.0, known(math.log(1.5), 0.05))
    base = Base(times=SAME, readings={(each, "compile_s"): more for each in TVM.values()})
    gate = held("compile_s:20%", base=base)
    assert gate.alone == set(TVM.values()), "identity compiles nothing"
    assert set(concluded(gate).values()) == {"regressed"}
    assert "has compile_s 2.00 s, main at 1a2b3c4 1.33 s: +50.0 %" in gate.verdicts[0].text
    assert held("bsr:5%", base=base).alone == set()


def test_percentiles_are_of_launches_in_which_calls_are_timed() -> None:
    clear, unclear = Reading(0.02, known(math.log(10), 0.05)), Reading(0.02, known(math.log(1.1), 0.5))
    base = Base(times=SAME, readings={(TVM[1], "p99_s"): clear, (TVM[8], "p99_s"): unclear})
    gate = held("p99:10% if compiler=tvm", base=base)
    assert (gate.tails, gate.alone) == (set(TVM.values()), set())
    assert list(concluded(gate).values()) == ["regressed", "inconclusive"]
    found, open_ = (each.text for each in gate.verdicts)
    assert "has p99_s 20.0 ms, main at 1a2b3c4 2.00 ms: +900.0 %" in found
    assert open_.endswith("nor surely beyond it; a larger --ngraph-tails times more calls")


@pytest.mark.parametrize(
    ("slowdowns", "weights"),
    [([0.01], [1]), ([0.03], [1]), ([0.02, -0.01], [1, -1])],
)
def test_what_got_worse_by_just_what_is_tolerated_is_seldom_called(
    slowdowns: list[float], weights: list[float]
) -> None:
    """Each cell stops taking launches when it is decided by its own margin."""
    rule, limit = Rule(level=0.05), sum(w * math.log1p(s) for w, s in zip(weights, slowdowns, strict=True))

    def called(seed: int) -> bool:
        machine = Machine(random=np.random.default_rng(seed))
        cells: list[Pooled] = []
        for slowdown in slowdowns:
            evidence = weigh(machine.gated(slowdown, rule)[1], rule, "together")
            assert evidence
            cells.append(evidence.confirmed)
        return combine(zip(weights, cells, strict=True)).p_above(limit) <= rule.level

    assert sum(map(called, range(40))) / 40 < 2 * rule.level


def test_costs_to_serve_need_no_launches_of_the_model_alone() -> None:
    """Their folders are launched; the other readings need processes that compile again."""
    assert held("cold_start:10%", "artifact:1%", base=Base(times=SAME)).alone == set()
    assert held("cpu:10%", base=Base(times=SAME)).alone == set(CASES)
