from __future__ import annotations

import dataclasses

import pytest
from judged import BUSY, MAIN, held, judged, result, verdicts
from synthetic import case, measured, skipped, under_load

from pytest_ngraph.gate import Check, Threshold
from pytest_ngraph.gate.verdict import Verdict
from pytest_ngraph.report.markdown import escaped
from pytest_ngraph.report.pull_request import headline, page
from pytest_ngraph.stats import Estimate


def test_the_verdict_comes_first_and_the_rest_in_the_order_of_what_needs_a_reader() -> None:
    lines = page(
        result(
            *verdicts(),
            checks=[Check(Threshold.parse("bsr<0.9"), None, "breached", "bsr<0.9 breached: slow has bsr 0.8")],
        )
    ).splitlines()
    assert lines[0] == (
        "**2 of 6 cases regressed against main at 1a2b3c4; 1 inconclusive; 1 new; 1 missing; 1 failed; "
        "1 threshold breached**"
    )
    headings = [line for line in lines if line.startswith(("### ", "<details>"))]
    assert headings == [
        "### Regressed",
        "### Inconclusive",
        "### Improved",
        "### New",
        "### Missing",
        "### Not measured",
        "### Thresholds breached",
        "<details><summary>Unchanged: 1 case</summary>",
        "<details><summary>Results: 6 cases</summary>",
        "<details><summary>Machine, versions, and how to repeat it</summary>",
    ]


def test_rows() -> None:
    lines = page(result(*verdicts())).splitlines()
    slower = lines.index("| `slower-openvino-b8-xeon` | +20.0% | +19.5% to +20.5% | 4 | 2.1% |")
    assert lines[slower + 1] == "| `slow-openvino-b8-xeon` | +3.0% | +2.5% to +3.5% | 4 | 2.1% |"
    assert lines[slower - 2 : slower] == [
        "| case | change | interval | launches | detectable |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    assert f"| `doubtful-openvino-b8-xeon` | +0.5% to +1.5% | {BUSY} |" in lines
    assert "| `gone-openvino-b8-xeon` | only main at 1a2b3c4 has it |" in lines
    assert "| `broken-tvm-b8-xeon` | failed in compile: RuntimeError: no such operator |" in lines
    assert "| processor | Xeon |" in lines
    assert "pytest benchmarks/ --ngraph-against=main" in lines


def test_of_a_case_under_load_the_highest_rate_and_the_latency_are_shown() -> None:
    lines = page(result(records=(under_load("tvm", 0.01, 50, 51, 50),))).splitlines()
    assert "| case | samples/s | ±% | max rate | latency |" in lines
    [row] = [line for line in lines if line.startswith("| `resnet18-tvm-")]
    assert "| 50.3 [48.9, 51.8] | 10.0 ms |" in row
    assert "max rate" not in page(result(records=(measured(case("tvm"), 0.01),)))


def test_only_calls_that_run_alone_have_a_latency() -> None:
    text = page(result(records=(measured(case("tvm", objective="throughput"), 0.01),)))
    assert "10.0 ms" not in text


def test_rows_against_a_stored_baseline_name_margin_and_what_decided() -> None:
    stored = {"launches": 0, "rounds": 0, "runs": 4, "basis": "in time"}
    lines = page(
        result(
            judged("regressed", "slow", 1.3, **stored, margin=0.01),
            judged("inconclusive", "doubtful", 1.08, **stored, margin=0.061, reason="unclear"),
            judged("unchanged", "same", 1.0, **(stored | {"relative_to": "identity"}), margin=0.061),
        )
    ).splitlines()
    assert "| `slow-openvino-b8-xeon` | +30.0% | +29.5% to +30.5% | 1.0% | time | 2.1% |" in lines
    assert "| `doubtful-openvino-b8-xeon` | +7.5% to +8.5% | ±6.1% | unclear |" in lines
    assert "| `same-openvino-b8-xeon` | +0.0% | -0.5% to +0.5% | ±6.1% | ratio | 2.1% |" in lines
    assert "| case | change | interval | margin | by | detectable |" in lines


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([judged("unchanged", "a", 1.0)], f"None of 1 case regressed against {MAIN}"),
        ([judged("unchanged", "a", 1.0), judged("new", "b")], f"None of 1 case regressed against {MAIN}; 1 new"),
        ([judged("new", "b")], f"Nothing was compared with {MAIN}; 1 new"),
        ([judged("regressed", "a", 1.1)], f"1 of 1 case regressed against {MAIN}"),
        ([judged("lost", "a")], f"1 of 1 case lost, none regressed against {MAIN}"),
        ([judged("lost", "a"), judged("regressed", "b", 1.1)], f"1 of 2 cases lost, 1 regressed against {MAIN}"),
        (
            [judged("inconclusive", "a", broken=True)],
            f"Nothing was compared with {MAIN}; 1 not compared, because the base is broken",
        ),
        ([judged("missing", "a")], f"Nothing was compared with {MAIN}; 1 missing"),
    ],
)
def test_headline(found: list[Verdict], expected: str) -> None:
    records = tuple(measured(v.case, 0.02) for v in found if v.name != "missing")
    assert headline(result(*found, records=records)) == expected


def test_metrics_that_are_held_to_the_base() -> None:
    of = case("tvm", 8)
    worse = held("regressed", "bsr:5%", of, change=Estimate(0.9, 0.88, 0.92), head=0.9, base=1.0)
    shown = result(judged("unchanged", "a", 1.0), metric_verdicts=[held("unchanged", "ase:5%", of), worse])
    assert headline(shown).startswith(f"None of 2 cases regressed against {MAIN}; 1 metric regressed; ")
    lines = page(shown).splitlines()
    table = lines.index("### Metrics regressed") + 2
    assert lines[table : table + 3] == [
        "| metric | of | head | base | change |",
        "| --- | --- | ---: | ---: | ---: |",
        "| `bsr:5%` | `resnet18-tvm-b8-xeon` | 0.900 | 1.00 | -10.0 % (99.9 % interval -12.0 to -8.0 %) |",
    ]
    assert not any("ase:5%" in line for line in lines)


def test_a_run_that_ended_early_says_so() -> None:
    pending = [case("openvino", 8, workload="later")]
    ended = result(judged("unchanged", "a", 1.0), unmeasured=pending)
    assert headline(ended) == (
        f"None of 3 cases regressed against {MAIN}; 1 failed; 1 not measured, because the run ended early"
    )
    assert "| `later-openvino-b8-xeon` | the run ended before its turn |" in page(ended)


def test_what_no_test_asked_for_is_not_the_runs_end() -> None:
    whole = result(judged("unchanged", "a", 1.0), unmeasured=[case("openvino", 8, workload="later")], whole=True)
    assert headline(whole).endswith("; 1 not measured, because no test asked")
    assert "| `later-openvino-b8-xeon` | no test asked (skipped, or failed before) |" in page(whole)


def test_with_several_baselines_each_row_names_its_own() -> None:
    slow = judged("regressed", "slow", 1.03)
    other = dataclasses.replace(slow, name="unchanged", against="baseline v1")
    shown = page(result(slow, other, bases={MAIN: "", "baseline v1": ""}, records=(measured(slow.case, 0.02),)))
    assert shown.startswith(f"**1 of 1 case regressed against {MAIN} and baseline v1**\n")
    assert f"| `slow-openvino-b8-xeon` against {MAIN} | +3.0% |" in shown
    assert "| `slow-openvino-b8-xeon` against baseline v1 | +3.0% |" in shown


def test_without_a_base_the_results_are_in_the_open() -> None:
    identity, openvino = case("identity", 8), case("openvino", 8)
    records = (measured(identity, 0.08), measured(openvino, 0.04, compile_s=3.2), skipped(case("tvm", 8), "no tvm"))
    lines = page(result(records=records)).splitlines()
    assert lines[:6] == [
        "**2 cases measured**",
        "",
        "| case | samples/s | ±% | latency | speedup | compile |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| `resnet18-identity-b8-xeon` | 100 | 0.0 | 80.0 ms | 1.00 |  |",
        "| `resnet18-openvino-b8-xeon` | 200 | 0.0 | 40.0 ms | 2.00 | 3.20 s |",
    ]
    assert headline(result(records=())) == "Nothing was measured"


def test_what_users_name_and_libraries_say_cannot_break_the_page() -> None:
    evil = "a|b<img src=x onerror=y>\n\n# heading"
    shown = page(result(judged("inconclusive", evil, reason=f"</details> {evil}"), bases={f"*{evil}*": ""}))
    assert "<img" not in shown
    assert "\n# heading" not in shown
    assert shown.count("</details>") == shown.count("<details>")
    row = next(line for line in shown.splitlines() if line.startswith("| <code>a&#124;b"))
    assert row.count("|") == 3


def test_seconds_of_several_iterations_at_a_time_are_no_latency() -> None:
    busy = case("openvino", 8, objective="throughput")
    (row,) = [line for line in page(result(records=(measured(busy, 0.04),))).splitlines() if "openvino" in line]
    assert row == "| `resnet18-openvino-b8-throughput-xeon` | 200 | 0.0 |"


def test_whatever_fails_the_run_is_told() -> None:
    mistake = "metrics of your own cannot be computed: KeyError: 'b'"
    failing = dataclasses.replace(result(judged("unchanged", "a", 1.0)), problems=[mistake])
    assert headline(failing).endswith("; 1 problem")
    assert f"### What also fails the run\n\n- {escaped(mistake)}\n" in page(failing)


def test_a_case_leads_to_its_history() -> None:
    lines = page(result(judged("regressed", "a b", 1.05), history="https://example.org/history.html"))
    assert "| [`a b-openvino-b8-xeon`](https://example.org/history.html#a%20b-openvino-b8-xeon) | +5.0% |" in lines
