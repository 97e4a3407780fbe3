"""The verdicts against a base, as the terminal shows them."""

from __future__ import annotations

import dataclasses

from judged import judged

from pytest_ngraph.report.comparison import comparison


def explanations(*reasons: str) -> list[str]:
    """Return the lines below the table, for cases that are inconclusive for these reasons."""
    verdicts = [
        dataclasses.replace(judged("inconclusive", f"net{number}", 1.01), reason=reason)
        for number, reason in enumerate(reasons)
    ]
    lines = [line.text.strip() for line in comparison(verdicts, "", 400)]
    return [line for line in lines if line.startswith("inconclusive") and ":" in line]


def test_one_reason_is_shown_once() -> None:
    assert explanations("too busy", "too busy") == ["inconclusive: too busy"]


def test_of_several_reasons_each_names_its_cases() -> None:
    assert explanations("too busy", "too few rounds", "too busy") == [
        "inconclusive (net0-openvino-b8-xeon, net2-openvino-b8-xeon): too busy",
        "inconclusive (net1-openvino-b8-xeon): too few rounds",
    ]
