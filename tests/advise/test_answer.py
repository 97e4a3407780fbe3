"""What is picked among candidates that are about as fast."""

from __future__ import annotations

import pytest
from racing import CLEAR, OPTIONS, Simulated, raced

from pytest_ngraph.advise.lines import sentence


def test_options_that_gain_hardly_anything_are_not_picked() -> None:
    """Of several equal candidates the luckiest process leads by a percent or two."""
    found, _ = raced(Simulated({**CLEAR, "openvino": 0.00605}))
    assert found.pick is not None
    assert found.pick.case.compiler == "openvino"
    assert [each.case.compiler for each in found.close] == ["openvino:streams=2"]
    assert ", not sure; openvino:streams=2 is within 1 %" in sentence(found)


def test_eager_pytorch_is_the_fastest_beside_options_that_gain_hardly_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPTIONS, "identity", {"identity:channels_last=true": 1.0})
    found, _ = raced(Simulated({"identity": 0.01, "identity:channels_last=true": 0.00995, "openvino": 0.018}))
    said = sentence(found)
    assert said.startswith("Deploy `identity` at batch 1: eager PyTorch is the fastest that was tried, ")
    assert said.endswith(", not sure; identity:channels_last=true is within 1 %.")
