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


def test_a_case_of_eager_pytorch_says_what_was_compared() -> None:
    verdicts = [
        dataclasses.replace(judged("regressed", "net", 1.1), compared="module"),
        judged("unchanged", "net", 1.0),
    ]
    texts = [line.text for line in comparison(verdicts, "", 400)]
    assert [text.split()[:3] for text in texts if "net-" in text] == [
        ["regressed", "net-openvino-b8-xeon", "(module)"],
        ["unchanged", "net-openvino-b8-xeon", "+0.0%"],
    ]


def test_one_reason_is_shown_once() -> None:
    assert explanations("too busy", "too busy") == ["inconclusive: too busy"]


def test_of_several_reasons_each_names_its_cases() -> None:
    assert explanations("too busy", "too few rounds", "too busy") == [
        "inconclusive (net0-openvino-b8-xeon, net2-openvino-b8-xeon): too busy",
        "inconclusive (net1-openvino-b8-xeon): too few rounds",
    ]
