from __future__ import annotations

from judged import held
from synthetic import case

from pytest_ngraph.report.metric_comparison import metric_comparison
from pytest_ngraph.stats import Estimate

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
