"""The verdicts against a base, as the terminal shows them."""

from __future__ import annotations

import dataclasses

from judged import held, judged
from synthetic import case

from pytest_ngraph.gate import Verdict
from pytest_ngraph.report.comparison import comparison, metric_comparison
from pytest_ngraph.stats import Estimate


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
        judged("unchanged", "net", 0.9999),
    ]
    texts = [line.text for line in comparison(verdicts, "", 400)]
    assert [text.split()[:3] for text in texts if "net-" in text] == [
        ["regressed", "net-openvino-b8-xeon", "(module)"],
        ["unchanged", "net-openvino-b8-xeon", "+0.0%"],
    ]


def rows(*verdicts: Verdict) -> list[str]:
    """Return the table's heading and rows."""
    lines = [line.text for line in comparison(verdicts, "", 400)]
    return [" ".join(line.split()) for line in lines[2 : 3 + len(verdicts)]]


def test_each_row_names_its_margin() -> None:
    live = rows(judged("unchanged", "net", 1.0, margin=0.01), judged("regressed", "slow", 1.03, margin=0.01))
    assert live[0].startswith("verdict case time from to margin detectable")
    assert live[1].startswith("regressed slow-openvino-b8-xeon +3.0% +2.5% +3.5% 1.0% 2.1%")
    assert live[2].startswith("unchanged net-openvino-b8-xeon +0.0% -0.5% +0.5% 1.0% 2.1%")


def test_a_row_against_a_stored_baseline_says_what_decided() -> None:
    common = {"launches": 0, "rounds": 0, "runs": 4, "margin": 0.061}
    found = comparison(
        [
            judged("unchanged", "a", 1.0, **common, relative_to="identity", basis="...", time=Estimate(1.2, 1, 1.4)),
            judged("inconclusive", "b", 1.08, **common, basis="in time"),
            judged("regressed", "c", 1.3, **(common | {"margin": 0.01}), basis="in time"),
        ],
        "",
        400,
    )
    table = [" ".join(line.text.split()) for line in found[2:6]]
    assert table == [
        "verdict case time from to margin by in time detectable",
        "regressed c-openvino-b8-xeon +30.0% +29.5% +30.5% 1.0% time 2.1%",
        "inconclusive b-openvino-b8-xeon +8.0% +7.5% +8.5% ±6.1% time 2.1%",
        "unchanged a-openvino-b8-xeon +0.0% -0.5% +0.5% ±6.1% ratio +20.0% 2.1%",
    ]
    assert any(line.text.strip().startswith("by ratio: times are divided by identity's") for line in found)


def test_one_reason_is_shown_once() -> None:
    assert explanations("too busy", "too busy") == ["inconclusive: too busy"]


def test_of_several_reasons_each_names_its_cases() -> None:
    assert explanations("too busy", "too few rounds", "too busy") == [
        "inconclusive (net0-openvino-b8-xeon, net2-openvino-b8-xeon): too busy",
        "inconclusive (net1-openvino-b8-xeon): too few rounds",
    ]


WORSE = held("regressed", "bsr:5%", case("tvm", 8), change=Estimate(0.9, 0.88, 0.92), head=0.9, base=1.0)


def test_the_worst_first_and_what_is_unchanged_counted() -> None:
    kept = [held("unchanged", "compile_s:20%", case("tvm", size)) for size in (1, 8)]
    doubtful = held("inconclusive", "bsr:5%", case("tvm", 4), reason="the machine was busy")
    lines = metric_comparison([*kept, doubtful, WORSE], 200)
    assert [line.text for line in lines] == [
        "",
        "Metrics against main at 1a2b3c4: 1 regressed, 1 inconclusive, 2 unchanged",
        "  bsr:5% regressed: resnet18-tvm-b8-xeon has bsr 0.900, main at 1a2b3c4 1.00: "
        "-10.0 % (99.9 % interval -12.0 to -8.0 %)",
        "  bsr:5% inconclusive: resnet18-tvm-b4-xeon: the machine was busy",
        "  unchanged: 2 by compile_s:20%",
    ]
    assert [line.style for line in lines[2:]] == ["bad", "doubt", "note"]


def test_each_base_has_its_own() -> None:
    other = held("unchanged", "bsr:5%", case("tvm", 8), against="baseline v1")
    headings = [line.text for line in metric_comparison([WORSE, other], 80) if line.style == "heading"]
    assert headings == ["Metrics against main at 1a2b3c4: 1 regressed", "Metrics against baseline v1: 1 unchanged"]
    assert metric_comparison([], 80) == []
