from __future__ import annotations

from functools import partial

import pytest
from changing import Base, known
from synthetic import case, measured

from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.bench.asked import Asked
from pytest_ngraph.errors import UsageError
from pytest_ngraph.gate import Threshold
from pytest_ngraph.gate.pooling import EXACTLY_EQUAL
from pytest_ngraph.metrics import compute
from pytest_ngraph.session.thresholds import SessionThresholds

ONE, EIGHT = case("tvm", 1), case("tvm", 8)
METRICS = compute([measured(ONE, 0.1), measured(EIGHT, 0.2)])
AGAINST_MAIN = GateOptions(against="main")


def held(*texts: str, by: float = 0.0, error: float = 0.002) -> SessionThresholds:
    """Held to a base whose batches of eight took this log ratio less."""
    ours = SessionThresholds(map(Threshold.parse, texts))
    base = Base(times={ONE: EXACTLY_EQUAL, EIGHT: known(by, error)})
    ours.to_bases([ONE, EIGHT], [base], AGAINST_MAIN)
    return ours


def test_what_needs_a_base_is_refused_without_one() -> None:
    ours = SessionThresholds([Threshold.parse("bsr<0.9")])
    ours.to_bases([ONE], [], GateOptions())
    ours.add(ONE, "test_it.py::test", [Threshold.parse("throughput:5%")])
    with pytest.raises(UsageError, match=r"'throughput:5%' compares with a base, which this run does not have"):
        ours.to_bases([ONE], [], GateOptions())


def test_what_needs_a_base_is_passed_over_while_calibrating() -> None:
    ours = SessionThresholds([Threshold.parse("throughput:5%")])
    ours.to_bases([ONE], [], GateOptions(calibrate=True))
    assert ours.verdicts_of(ONE, lambda: METRICS) == []
    assert ours.conclude(METRICS).breaches == []


def test_a_limit_and_a_base_are_held_to_side_by_side() -> None:
    ours = held("throughput<100", "throughput:5%", by=0.5)
    (breach,) = ours.breaches_of(EIGHT, "test_it.py::test", lambda: METRICS)
    assert breach.startswith("throughput<100 breached")
    (verdict,) = ours.verdicts_of(EIGHT, lambda: METRICS)
    assert (verdict.name, verdict.case) == ("regressed", EIGHT)
    outcome = ours.conclude(METRICS)
    assert {(each.case, each.name) for each in outcome.verdicts} == {(ONE, "unchanged"), (EIGHT, "regressed")}
    assert [text.split(":")[0] for text in outcome.breaches] == ["throughput<100 breached"], "the other case's"


def test_what_spans_cases_is_judged_at_the_end() -> None:
    outcome = held("friction:0.05", by=0.5).conclude(METRICS)
    assert [each.name for each in outcome.verdicts] == ["regressed"]


def test_a_limit_of_the_run_fails_the_first_test_of_a_case_whenever_that_is_run() -> None:
    ours = held("throughput<100")
    failed = [bool(ours.breaches_of(EIGHT, f"test_it.py::{name}", lambda: METRICS)) for name in ("one", "one", "two")]
    assert failed == [True, True, False]


def test_what_selects_nothing_or_is_absent_is_told() -> None:
    checks = held("bsr:5%", "throughput:5% if b=3").conclude(METRICS).checks
    assert {(str(each.threshold), each.outcome) for each in checks} == {
        ("bsr:5%", "absent"),
        ("throughput[b=3]:5%", "unmatched"),
    }


def test_a_tests_own_limits_are_its_own() -> None:
    ours = SessionThresholds([])
    ours.add(EIGHT, "test_it.py::gated", [Threshold.parse("throughput<100")])
    assert ours.breaches_of(EIGHT, "test_it.py::free", lambda: METRICS) == []
    (breach,) = ours.breaches_of(EIGHT, "test_it.py::gated", lambda: METRICS)
    assert breach.startswith("throughput<100 breached")
    outcome = ours.conclude(METRICS)
    assert [(each.case, each.outcome) for each in outcome.checks] == [(EIGHT, "breached")]
    assert outcome.breaches == [], "the test has failed already"


def test_a_tests_own_limit_that_selects_none_of_its_cases_is_shown_once() -> None:
    """It would never fail, and nobody would notice: here, the batch size is mistyped."""
    ours = SessionThresholds([])
    for each in (ONE, EIGHT):
        ours.add(each, "test_it.py::test", map(Threshold.parse, ("throughput[b=80]<100", "throughput[b=8]<100")))
    ours.add(ONE, "test_it.py::other", [Threshold.parse("mine.score<1")])
    found = {str(each.threshold): (each.outcome, each.text) for each in ours.conclude(METRICS).checks}
    assert found["throughput[b=8]<100"][0] == "breached", "it selects one of the two"
    assert found["throughput[b=80]<100"][1].endswith("matches nothing that this run measured: batch_size is 1, 8")
    assert found["mine.score<1"] == ("unmatched", "mine.score<1 matches nothing that this run measured")
    assert len(ours.conclude(METRICS).checks) == 3


def test_all_limits_of_a_run_share_the_error_level_from_its_first_test_on() -> None:
    """What the first test fails for is also breached at the end, however many cases follow."""
    of = [case("tvm", 8, workload=f"net{number}") for number in range(60)]
    near, far = 0.235, 1.0  # throughput 34 and 8, of at least 40
    for seconds, breached in ((near, False), (far, True)):
        records = [measured(each, seconds if each == of[0] else 0.1) for each in of]
        ours = SessionThresholds([Threshold.parse("throughput<40")])
        ours.to_bases(of, [], GateOptions())
        assert bool(ours.breaches_of(of[0], "test_it.py::test", partial(compute, records[:1]))) is breached
        outcome = ours.conclude(compute(records))
        assert ([each.outcome for each in outcome.checks].count("breached") == 1) is breached
        assert outcome.breaches == []
    lonely = SessionThresholds([Threshold.parse("throughput<40")])
    lonely.to_bases(of[:1], [], GateOptions())
    assert lonely.breaches_of(of[0], "test_it.py::test", lambda: compute([measured(of[0], near)]))


def test_what_has_to_be_measured_follows_from_the_thresholds() -> None:
    asked = held("p99:10% if b=8", "compile_s:20% if b=1", "p50>1s if b=1").asked
    assert (asked.calls, asked.tails, asked.alone) == ({ONE, EIGHT}, {EIGHT}, {ONE})
    rounds = Asked(calls=set(), served=set(), profiled=set(), compile_s=set(), figures={ONE, EIGHT})
    assert held("throughput<100").asked == rounds


@pytest.mark.parametrize("reason", ["tails", "serving", "figures", ""])
def test_figures_are_read_where_an_option_needs_them(reason: str) -> None:
    ours = SessionThresholds([], **dict.fromkeys(filter(None, [reason]), True))
    ours.to_bases([ONE], [], GateOptions())
    assert (ONE in ours.asked.figures) is bool(reason)


def test_an_option_asks_for_the_calls_of_every_case() -> None:
    ours = SessionThresholds([], tails=True)
    ours.to_bases([ONE, EIGHT], [], GateOptions())
    assert ours.asked.calls == {ONE, EIGHT}


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("cold_start<1s", True),
        ("serving_memory>300MiB if compiler=tvm", True),
        ("artifact>1MiB if b=1", False),
        ("install_bytes>1GiB if compiler=openvino", False),
        ("worker_memory>1GiB", False),
    ],
)
def test_a_threshold_on_a_cost_to_serve_asks_for_it_where_it_selects(text: str, *, needed: bool) -> None:
    everywhere, of_one = SessionThresholds([Threshold.parse(text)]), SessionThresholds([])
    of_one.add(EIGHT, "test_it.py::test", [Threshold.parse(text)])
    for ours in (everywhere, of_one):
        ours.to_bases([ONE, EIGHT], [], GateOptions())
        assert (EIGHT in ours.asked.served) is needed
    assert ONE not in of_one.asked.served


def test_costs_compared_with_a_base_are_asked_for_without_launches_of_the_model_alone() -> None:
    asked = held("cold_start:10% if b=8", "artifact_bytes:1% if b=8").asked
    assert (asked.served, asked.alone) == ({EIGHT}, set())


def test_an_option_asks_for_the_costs_of_every_case() -> None:
    ours = SessionThresholds([], serving=True)
    ours.to_bases([ONE, EIGHT], [], GateOptions())
    assert ours.asked.served == {ONE, EIGHT}


def test_the_limits_that_rounds_show() -> None:
    """Identity's speedup follows from its definition; memory needs no rounds; a curve needs those of all its cases."""
    eager = case("identity", 1)
    ours = SessionThresholds(map(Threshold.parse, ["speedup<1.2", "worker_memory>1GiB", "throughput[b=8]<5"]))
    ours.add(ONE, "test_it.py::test", [Threshold.parse("latency_s>1")])
    ours.to_bases([eager, ONE, EIGHT], [], GateOptions())
    found = {each: sorted(limit.metric for limit in limits) for each, limits in ours.round_limits.items()}
    assert found == {ONE: ["latency_s", "speedup"], EIGHT: ["speedup", "throughput"]}
    curve = SessionThresholds([Threshold.parse("friction>0.5")])
    curve.to_bases([eager, ONE], [], GateOptions())
    assert set(curve.round_limits) == {eager, ONE}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bsr<0.9", "identity-b1 identity-b16 openvino-b1 openvino-b16"),
        ("bsr[b=16]<0.9 if compiler=openvino", "identity-b1 identity-b16 openvino-b1 openvino-b16"),
        ("ase[b=16]<0.5", "identity-b1 identity-b16 openvino-b1 openvino-b16"),
        ("rtr[b=16]<2 if compiler=openvino", "openvino-b1 openvino-b16"),
        ("break_even>100 if b=16", "identity-b16 openvino-b16"),
        ("throughput[b=16]<5 if compiler=openvino", "openvino-b16"),
    ],
)
def test_a_goal_gives_rounds_to_all_that_a_limit_is_computed_from(text: str, expected: str) -> None:
    cases = [case(compiler, size) for compiler in ("identity", "openvino") for size in (1, 16)]
    ours = SessionThresholds([Threshold.parse(text)])
    ours.to_bases(cases, [], GateOptions())
    assert sorted(f"{each.compiler}-b{each.batch_size}" for each in ours.round_limits) == expected.split()
    assert all(len(limits) == 1 for limits in ours.round_limits.values())
