"""A run against stored baselines: the class alone, and as its users see it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from synthetic import case, measured, skipped

from pytest_ngraph.against import stored
from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.against.stored import StoredBase
from pytest_ngraph.errors import UsageError
from pytest_ngraph.gate import Threshold
from pytest_ngraph.gate.metric_gate import MetricGate, gated
from pytest_ngraph.machine.machine import environment
from pytest_ngraph.metrics import compute
from pytest_ngraph.record import Contention
from pytest_ngraph.store import Journal, Run, baselines
from pytest_ngraph.store.baselines import Baseline

ONE, TWO, THREE = (case("openvino", size) for size in (1, 2, 3))


def against(**seconds: float) -> StoredBase:
    """Return a base whose stored baseline has one run, of the cases named here with their seconds."""
    cases = {"one": ONE, "two": TWO, "three": THREE}
    records = tuple(measured(cases[name], value, nodeid=f"test_it.py::{name}") for name, value in seconds.items())
    return StoredBase(Baseline(name="v1", runs=(Run(id="1", environment=environment(), records=records),)), 0.01, 0.01)


def names(of: StoredBase) -> dict[Any, str]:
    return {each.case: each.name for each in of.verdicts.values()}


def test_each_record_is_judged_as_it_comes() -> None:
    ours = against(one=1.0, two=1.0)
    for case_, seconds in ((ONE, 1.0), (TWO, 2.0), (THREE, 1.0)):
        ours.judge(measured(case_, seconds))
    assert names(ours) == {ONE: "unchanged", TWO: "regressed", THREE: "new"}
    assert ours.conclude() == []


def test_a_case_that_is_skipped_where_the_baseline_measured_it_is_lost() -> None:
    ours = against(one=1.0)
    ours.judge(skipped(ONE, "openvino cannot convert it"))
    ours.judge(skipped(TWO, "openvino cannot convert it either"))
    assert names(ours) == {ONE: "lost"}
    assert ours.verdicts[ONE].text == "lost: openvino cannot convert it; baseline v1 has a measurement of it"
    ours.require({ONE, TWO}, lambda case_, nodeid: False)
    assert names(ours) == {ONE: "lost"}


def test_a_case_that_the_baselines_last_run_skipped_too_is_not_lost() -> None:
    runs = [
        Run(id="1", environment=environment(), records=(measured(ONE, 1.0),)),
        Run(id="2", environment=environment(), records=(skipped(ONE, "no such operator"),)),
    ]
    for order, verdicts in ((runs, {}), (runs[::-1], {ONE: "lost"})):
        ours = StoredBase(Baseline(name="v1", runs=tuple(order)), 0.01, 0.01)
        ours.judge(skipped(ONE, "no such operator"))
        ours.require({ONE}, lambda case_, nodeid: False)
        assert names(ours) == verdicts


def test_a_regression_leaves_more_of_the_level_to_the_cases_before_it() -> None:
    ours = against(one=1.0, two=1.0)
    ours.expect([ONE, TWO, THREE])
    seconds = 1.25
    ours.judge(measured(ONE, seconds))
    assert names(ours) == {ONE: "inconclusive"}
    ours.judge(measured(TWO, 3.0))
    assert ours.conclude() == []
    assert names(ours) == {ONE: "regressed", TWO: "regressed"}


def test_cases_that_came_before_identity_are_judged_again_beside_it() -> None:
    code = {"graph": "1a2b"}
    records = tuple(measured(each, 1.0, follows_from=code) for each in (ONE, ONE.group))
    baseline = Baseline(name="v1", runs=(Run(id="1", environment=environment(), records=records),))
    ours = StoredBase(baseline, 0.01, 0.01)
    ours.judge(measured(ONE, 1.3, follows_from=code))
    assert (names(ours)[ONE], ours.verdicts[ONE].relative_to) == ("regressed", "")
    ours.judge(measured(ONE.group, 1.3, follows_from=code))
    assert (names(ours)[ONE], ours.verdicts[ONE].relative_to) == ("unchanged", "identity")


def test_metrics_are_compared_with_a_baseline_by_a_widened_margin() -> None:
    ours = against(one=1.0, two=1.0)
    gate = MetricGate(ours)
    gate.expect(gated([(Threshold.parse("rtr:5%"), None), (Threshold.parse("throughput:5%"), None)], [ONE, TWO]))
    ours.expect([ONE, TWO])
    records = [measured(ONE, 1.0), measured(TWO, 4.0)]
    for record in records:
        ours.judge(record)
    gate.conclude(compute(records))
    assert {(each.threshold.metric, each.case): each.name for each in gate.verdicts} == {
        ("rtr", TWO): "regressed",
        ("throughput", ONE): "unchanged",
        ("throughput", TWO): "regressed",
    }
    widened = [each.name for each in gate.verdicts if "the tolerated limit was widened to" in each.text]
    assert widened == ["unchanged"]


def test_what_was_selected_or_is_gone_is_missing_when_it_was_not_measured() -> None:
    ours = against(one=1.0, two=1.0, three=1.0)
    asked: list[tuple[object, str]] = []

    def is_gone(case_: object, nodeid: str) -> bool:
        asked.append((case_, nodeid))
        return case_ == TWO

    ours.require({ONE}, is_gone)
    assert names(ours) == {ONE: "missing", TWO: "missing"}
    assert asked == [(TWO, "test_it.py::two"), (THREE, "test_it.py::three")]
    assert [each.text for each in ours.conclude()] == [
        "missing: its test yielded no measurement",
        "missing: only baseline v1 has it",
    ]


def test_nothing_is_missing_that_was_measured() -> None:
    ours = against(one=1.0)
    ours.judge(measured(ONE, 1.0))
    ours.require({ONE}, lambda case_, nodeid: True)
    assert names(ours) == {ONE: "unchanged"}


def keep_baseline(folder: Path, name: str, **changed: str) -> None:
    journal = Journal(folder, environment() | changed)
    journal.append(measured(ONE, 1.0))
    baselines.keep(folder, name, journal.id)


def test_another_machine_is_refused_without_the_option(tmp_path: Path) -> None:
    keep_baseline(tmp_path, "theirs", fingerprint="0123", processor="Another")
    with pytest.raises(UsageError, match=r"another machine: Another, .*\(0123\); this is .*--ngraph-foreign-baseline"):
        stored.load(tmp_path, GateOptions(compare=("theirs",)))
    with pytest.raises(UsageError, match="another machine"):
        stored.check_can_save(tmp_path, GateOptions(save="theirs"))
    (found,) = stored.load(tmp_path, GateOptions(compare=("theirs",), foreign_baseline=True))
    assert found.description == "compared with baseline theirs (1 run)"


def test_another_generation_of_one_name_is_another_machine_and_says_how(tmp_path: Path) -> None:
    facts = {"fingerprint": "0123", "processor model": "GenuineIntel family 6 model 85 stepping 4", "microcode": "0x7"}
    keep_baseline(tmp_path, "skylake", **facts)
    differs = r"\(processor model was GenuineIntel family 6 model 85 stepping 4, .*, microcode was 0x7, is .*\)\. A"
    with pytest.raises(UsageError, match=differs):
        stored.load(tmp_path, GateOptions(compare=("skylake",)))


def test_a_baseline_of_an_earlier_version_is_not_refused_for_the_update_alone(tmp_path: Path) -> None:
    later = {"earlier fingerprint", "processor model", "microcode", "instruction sets"}
    known = {name: value for name, value in environment().items() if name not in later}
    journal = Journal(tmp_path, known | {"fingerprint": environment()["earlier fingerprint"]})
    journal.append(measured(ONE, 1.0))
    baselines.keep(tmp_path, "older", journal.id)
    (found,) = stored.load(tmp_path, GateOptions(compare=("older",)))
    assert found.problem == ""
    stored.check_can_save(tmp_path, GateOptions(save="older"))


def test_each_device_is_compared_with_its_own_machine(tmp_path: Path) -> None:
    journal = Journal(tmp_path, environment())
    journal.describe_device(ONE.device, environment() | {"fingerprint": "0123"})
    journal.append(measured(ONE, 1.0))
    baselines.keep(tmp_path, "cluster", journal.id)
    options = GateOptions(compare=("cluster",))
    with pytest.raises(UsageError, match="another machine"):
        stored.load(tmp_path, options)
    assert stored.load(tmp_path, options, lambda device: environment() | {"fingerprint": "0123"})
    assert stored.load(tmp_path, options, lambda device: None), "a device that is not measured on now"


def test_other_versions_are_reported(tmp_path: Path) -> None:
    keep_baseline(tmp_path, "older", numpy="0.1")
    (found,) = stored.load(tmp_path, GateOptions(compare=("older",)))
    assert found.problem == f"baseline older had numpy 0.1, now {environment()['numpy']}"


def test_an_anchored_baseline_is_not_saved_to(tmp_path: Path) -> None:
    keep_baseline(tmp_path, "release")
    stored.check_can_save(tmp_path, GateOptions(save="release"))
    baselines.bless(tmp_path, "release")
    with pytest.raises(UsageError, match="anchored"):
        stored.check_can_save(tmp_path, GateOptions(save="release"))


@pytest.fixture
def times(quick_project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that multiplies the times of baseline `v1`, by a factor so large that noise does not matter."""
    monkeypatch.setattr(Contention, "most_slowed", 1.0)

    def scale(factor: float) -> None:
        (path,) = (quick_project.path / ".ngraph" / "baselines" / "v1").glob("*.jsonl")
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for record in lines:
            if "rounds" in record:
                record["rounds"] = [[iterations, factor * elapsed_s] for iterations, elapsed_s in record["rounds"]]
        path.write_text("\n".join(map(json.dumps, lines)) + "\n")

    return scale


def test_saved_and_compared(quick_project: pytest.Pytester, times: Callable[[float], None]) -> None:
    exact = "--compiler=mine:Exact"
    result = quick_project.runpytest(exact, "--ngraph-save=v1")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["Saved as baseline v1; --ngraph-compare=v1 compares with it."])

    times(1e3)
    result = quick_project.runpytest(
        exact, "--ngraph-compare=v1", "-k", "b4", "--junitxml=out.xml", "--ngraph-summary=gate.md"
    )
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(["ngraph: compared with baseline v1 (1 run)", "Against baseline v1: 1 improved"])
    assert result.ret == 0
    assert '<property name="ngraph_margin" value="1.0 %"' in (quick_project.path / "out.xml").read_text()
    assert "| margin | by |" in (quick_project.path / "gate.md").read_text()
    (verdict,) = json.loads((quick_project.path / "gate.json").read_text())["verdicts"]
    assert (verdict["margin"], verdict["basis"]) == (pytest.approx(0.01), "in time, without identity beside it")

    times(1e-6)
    result = quick_project.runpytest(exact, "--ngraph-compare=v1", "--ngraph-save=v1")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "regressed: * slower than baseline v1 in time, * (* % interval *), 1 run, margin 1.0 %",
            "Against baseline v1: 2 regressed",
            "Not saved as baseline v1: this run has a regression, which comparing with it would hide.",
        ]
    )
    assert len(baselines.read(quick_project.path / ".ngraph", "v1").runs) == 1


def test_of_several_baselines_junit_has_the_worst_verdict(
    quick_project: pytest.Pytester, times: Callable[[float], None]
) -> None:
    exact = ("--compiler=mine:Exact", "-k", "b4")
    quick_project.runpytest(*exact, "--ngraph-save=v1")
    times(1e-6)
    quick_project.runpytest(*exact, "--ngraph-save=v2")
    result = quick_project.runpytest(*exact, "--ngraph-compare=v1,v2", "--junitxml=out.xml")
    result.assert_outcomes(failed=1, deselected=1)
    properties = ElementTree.parse(quick_project.path / "out.xml").findall(".//property")
    found = [(each.get("name"), each.get("value")) for each in properties]
    assert found == [("ngraph_verdict", "regressed"), ("ngraph_margin", "1.0 %")]


def test_a_case_that_the_project_no_longer_has_fails_the_run(
    quick_project: pytest.Pytester, times: Callable[[float], None]
) -> None:
    exact = "--compiler=mine:Exact"
    quick_project.runpytest(exact, "--ngraph-save=v1")
    times(1e3)
    test = quick_project.path / "test_it.py"
    test.write_text(test.read_text().replace("[1, 4]", "[4, 8]"))
    result = quick_project.runpytest(exact, "--ngraph-compare=v1")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "Against baseline v1: 1 missing, 1 new, 1 improved",
            "plain-mine:Exact-b1-cpu missing: only baseline v1 has it",
        ]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ngraph-compare=v9"], "unknown baseline 'v9'. --ngraph-save=NAME makes one."),
        (["--ngraph-compare=latest"], "the store * has no runs.*"),
        (["--ngraph-save=a/b"], "a baseline cannot be called 'a/b'.*"),
        (
            ["--ngraph-save=v1", "--ngraph-against=main"],
            "--ngraph-compare and --ngraph-save cannot be combined with a base that is measured in the same run*",
        ),
    ],
)
def test_mistakes_are_one_message(quick_project: pytest.Pytester, arguments: list[str], message: str) -> None:
    result = quick_project.runpytest(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
