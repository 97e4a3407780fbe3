"""What the processor did, of one case and of two."""

from __future__ import annotations

from dataclasses import replace

import pytest
from explained import kernel, profile

from pytest_ngraph.explain.counters import counted, in_words
from pytest_ngraph.explain.explanation import explain
from pytest_ngraph.explain.profile import Block, Profile
from pytest_ngraph.gate.why import why
from pytest_ngraph.report.explained import lines
from pytest_ngraph.stats import Estimate


def counting(name: str, events: dict[str, float], blocks: int = 8, uncounted: str = "") -> Profile:
    """Return a profile whose events differ a little from block to block."""
    made = profile([kernel("a", 0.9)], blocks=blocks, name=name)
    drifts = (1 + index / 1000 for index in range(blocks))
    own = tuple(Block(latency_s=1.0, kernels=made.blocks[0].kernels, counters=_times(events, f)) for f in drifts)
    return replace(made, blocks=own, uncounted=uncounted)


def _times(events: dict[str, float], factor: float) -> dict[str, float]:
    return {name: count * factor for name, count in events.items()}


BASE = {"instructions": 1e9, "cycles": 2e9, "cache_misses": 1e6, "task_clock_ns": 1e9}


def test_two_cases_are_compared_block_by_block() -> None:
    head = BASE | {"instructions": 1.001e9, "cache_misses": 1.08e6, "task_clock_ns": 1.25e9}
    found = explain([counting("base", BASE), counting("head", head)])
    assert [counter.name for counter in found.counters] == ["instructions", "cycles", "cache_misses", "clock_hz"]
    assert found.counters[2].ratio == pytest.approx((1.08, 1.08, 1.08))
    assert [*in_words(found.to_dict()["counters"])] == [
        "same instructions",
        "same cycles",
        "8.0 % more cache misses",
        "clock 20.0 % slower",
    ]
    assert "8.0 % more cache misses" in why(found.to_dict(), Estimate.exactly(1.1))
    shown = "\n".join(lines("net-b1-cpu", found, 100))
    assert "cache misses a call: base 1 M, head 1.08 M" in shown
    assert "clock: base 2 GHz, head 1.6 GHz" in shown


def test_what_noise_can_explain_is_not_said() -> None:
    few = [counting(name, BASE, blocks=3) for name in ("base", "head")]
    assert [*in_words(explain(few).to_dict()["counters"])] == []


def test_an_event_that_one_block_lacks_is_left_out_and_the_reason_is_shown() -> None:
    made = counting("one", {"task_clock_ns": 1e9}, uncounted="this machine has no hardware counters")
    assert counted([made]) == ()
    assert "Not counted: this machine has no hardware counters." in lines("net-b1-cpu", explain([made]), 100)
    assert "counters" not in why(explain([made, made]).to_dict(), Estimate.exactly(1.1))
