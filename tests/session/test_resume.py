"""What stands of a run that a session resumes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from launched import costs
from launching import exact
from synthetic import case, failed, measured

from pytest_ngraph.artifact import Model
from pytest_ngraph.bench.asked import Asked
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.costs import Costs
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.machine import environment
from pytest_ngraph.record import FailureKind, Record
from pytest_ngraph.session.options import ResumeOptions
from pytest_ngraph.session.resume import ResumedRun, open_run
from pytest_ngraph.store import SCHEMA, Journal, Run, outlined, read, run_ids, unfinished
from pytest_ngraph.store.run import Death

CASE = case("tvm", 8)


def test_a_case_that_crashed_too_often_counts_as_begun_now(tmp_path: Path) -> None:
    """Of equal cases the one begun last counts: an earlier run's measurement of this one does not any more."""
    run = Run(id="1", deaths={CASE: Death(2, "compile")}, whole=False)
    resumed = ResumedRun(run, Journal(tmp_path, {}), retries=1)
    assert resumed.stands(CASE, lambda record: {})
    record = resumed.kept[CASE]
    assert record.failure is not None
    assert record.failure.kind == "crashed"
    assert record.started_at > 0


@pytest.mark.parametrize(
    ("kind", "again"),
    [("crashed", True), ("timed out", True), ("out of memory", True), ("raised", False), ("disagreed", False)],
)
def test_a_failure_that_may_have_been_chance_is_measured_again_when_asked(
    tmp_path: Path, kind: FailureKind, *, again: bool
) -> None:
    made = {"graph": "g", "files": {}}
    record = dataclasses.replace(failed(CASE, kind=kind), follows_from=made)
    for retry_failed in (False, True):
        journal = Journal(tmp_path / str(retry_failed), {})
        resumed = ResumedRun(Run(id="1", records=(record,)), journal, 1, retry_failed=retry_failed)
        measured_again = again and retry_failed
        assert resumed.stands(CASE, lambda record: made) is not measured_again
        assert resumed.failed == [CASE] * measured_again
        assert any("may have been chance" in note for note in resumed.notes) is measured_again


@pytest.mark.parametrize("name", ["latest", "its id"])
@pytest.mark.parametrize("race", ["", "net", "another net"])
def test_a_session_goes_on_only_with_a_run_of_its_kind(tmp_path: Path, name: str, race: str) -> None:
    killed = Journal(tmp_path, {}, race="net")
    killed.append(measured(CASE, 0.1))
    killed.close()
    options = ResumeOptions(run=killed.id if name == "its id" else name)
    if race == "net":
        resumed = open_run(tmp_path, options, race)
        assert resumed is not None
        assert resumed.run.id == killed.id
        resumed.journal.close()
    elif name == "latest":
        assert open_run(tmp_path, options, race) is None
    else:
        what = f"run {killed.id} is a race of net, .* To resume it: pytest-ngraph advise net --resume={killed.id}"
        with pytest.raises(UsageError, match=what):
            open_run(tmp_path, options, race)


def test_of_the_runs_of_earlier_versions_what_has_steps_is_a_race(tmp_path: Path) -> None:
    for steps in (0, 2):
        journal = Journal(tmp_path, {}, run=f"{steps} steps")
        for _ in range(steps or 1):
            journal.append(measured(CASE, 0.1))
            if steps:
                journal.end_step(1.0)
        journal.close()
        path = tmp_path / f"{journal.id}.jsonl"
        path.write_text(path.read_text().replace('"race":"",', ""))
    assert unfinished(tmp_path) == "0 steps"
    assert unfinished(tmp_path, CASE.workload) == "2 steps"


def test_what_crashed_too_often_is_measured_again_when_asked(tmp_path: Path) -> None:
    run = Run(id="1", deaths={CASE: Death(9, "compile")}, whole=False)
    resumed = ResumedRun(run, Journal(tmp_path, {}), retries=1, retry_failed=True)
    assert not resumed.stands(CASE, lambda record: {})
    assert resumed.retried == [CASE]


def test_a_base_that_crashed_beside_it_counts(tmp_path: Path) -> None:
    record = dataclasses.replace(measured(CASE, 0.1), comparison=Comparison(broken="crashed"))
    assert record.may_pass
    assert not dataclasses.replace(record, comparison=Comparison(broken="raised")).may_pass
    in_two_ways = Comparison(module=Comparison(broken="timed out"))
    assert dataclasses.replace(record, comparison=in_two_ways).may_pass


@pytest.mark.parametrize("name", ["alone", "tails"])
def test_what_is_asked_for_beside_a_base_and_is_not_there_is_measured_again(tmp_path: Path, name: str) -> None:
    made = {"graph": "g", "files": {}}
    compared = Comparison(launches=(exact(0.0),))
    record = dataclasses.replace(measured(CASE, 0.1, calls=(0.1,)), comparison=compared, follows_from=made)
    failed_then = dataclasses.replace(compared, alone_problem="no memory", calls_problem="no memory")

    def stands(record: Record, asked: Asked) -> bool:
        resumed = ResumedRun(Run(id="1", records=(record,)), Journal(tmp_path, {}), 1)
        return resumed.stands(CASE, lambda record: made, asked)

    asked = Asked(**{name: {CASE}})
    assert stands(record, Asked())
    assert not stands(record, asked)
    assert stands(dataclasses.replace(record, comparison=failed_then), asked), "it was tried"


def test_an_unchanged_case_is_measured_where_its_figures_are_needed(tmp_path: Path) -> None:
    """A threshold or a report that a later session asks for."""
    made = {"graph": "g", "files": {}}
    record = dataclasses.replace(Record.unchanged(CASE, Comparison(same=True), Model()), follows_from=made)
    for asked, stands in ((Asked(), True), (Asked(figures={CASE}), False)):
        resumed = ResumedRun(Run(id="1", records=(record,)), Journal(tmp_path, {}), 1)
        assert resumed.stands(CASE, lambda record: made, asked) is stands
    assert list(resumed.notes) == ["1 case measured again: it equals its base's, and its figures are needed now."]


def test_a_group_of_two_sessions_is_said_to_be_compared_less_surely(tmp_path: Path) -> None:
    made = {"graph": "g", "files": {}}
    record = dataclasses.replace(measured(CASE, 0.1), follows_from=made)
    resumed = ResumedRun(Run(id="1", records=(record,)), Journal(tmp_path, {}), 1)
    assert resumed.stands(CASE, lambda record: made)
    assert not resumed.stands(case("identity", 8), lambda record: made)
    *_, note = resumed.notes
    assert "not compared in the same minutes, and fewer answers are sure: resnet18" in note


def test_a_finished_run_is_gone_on_with_to_measure_again_what_crashed(quick_project: pytest.Pytester) -> None:
    """What is deterministic stays, and so does what was measured."""
    compilers = "--compiler=mine:Exact,mine:Once,mine:Raises"
    quick_project.runpytest(compilers, "-k", "b4").assert_outcomes(passed=1, failed=2)
    store = quick_project.path / ".ngraph"
    (first,) = run_ids(store)
    before = {record.case.compiler: record for record in read(store, first).records}
    again = quick_project.runpytest(compilers, "-k", "b4", "--ngraph-resume", "--ngraph-retry-failed")
    again.assert_outcomes(passed=2, failed=1)
    again.stdout.fnmatch_lines(
        [
            "2 cases of run * taken over from an earlier session.",
            "1 case measured again, whose failure may have been chance: plain-mine:Once-b4-cpu.",
        ]
    )
    assert run_ids(store) == [first]
    after = {record.case.compiler: record for record in read(store, first).records}
    assert after["mine:Once"].outcome == "measured"
    assert {name: record for name, record in after.items() if name != "mine:Once"} == {
        name: record for name, record in before.items() if name != "mine:Once"
    }


def test_retrying_what_failed_needs_a_run(quick_project: pytest.Pytester) -> None:
    result = quick_project.runpytest("--ngraph-retry-failed")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--ngraph-retry-failed needs a run to continue: add --ngraph-resume.*"])


def test_a_run_of_which_a_part_was_selected_is_gone_on_with_once_more(quick_project: pytest.Pytester) -> None:
    store = quick_project.path / ".ngraph"
    journal = Journal(store, environment(), lambda: [f"plain-mine:Exact-b{size}-cpu" for size in (1, 4)])
    journal.describe_device("cpu", {})
    journal.close()
    for selection, whole in (("b1", False), ("b", True)):
        quick_project.runpytest("--compiler=mine:Exact", "--ngraph-resume=latest", "-k", selection)
        assert run_ids(store) == [journal.id]
        assert read(store, journal.id).whole is whole
    assert {record.case.batch_size for record in read(store, journal.id).records} == {1, 4}


@pytest.mark.parametrize(
    ("costed", "serving", "stands"), [(False, None, True), (True, None, False), (True, costs(), True)]
)
def test_a_record_without_costs_is_measured_again_where_they_are_asked_for(
    tmp_path: Path, serving: Costs | None, *, costed: bool, stands: bool
) -> None:
    made = {"graph": "g", "files": {}}
    record = measured(CASE, 0.1, follows_from=made, serving=serving)
    resumed = ResumedRun(Run(id="1", records=(record,)), Journal(tmp_path, {}), 1)
    asked = Asked(served={CASE} if costed else ())
    assert resumed.stands(CASE, lambda record: made, asked) is stands
    said = ["1 case measured again: what serving costs was not measured."]
    assert [note for note in resumed.notes if "again" in note] == said * (not stands)


@pytest.mark.parametrize(
    ("asked", "profile", "stands"),
    [(False, {}, True), (True, {}, False), (True, {"problem": "only on a GPU"}, True)],
)
def test_a_record_without_a_profile_is_measured_again_where_one_is_asked_for(
    tmp_path: Path, profile: dict[str, str], *, asked: bool, stands: bool
) -> None:
    made = {"graph": "g", "files": {}}
    record = measured(CASE, 0.1, follows_from=made, profile=profile)
    resumed = ResumedRun(Run(id="1", records=(record,)), Journal(tmp_path, {}), 1)
    assert resumed.stands(CASE, lambda record: made, Asked(profiled={CASE} if asked else ())) is stands
    said = ["1 case measured again: its time was not profiled."]
    assert [note for note in resumed.notes if "again" in note] == said * (not stands)


@pytest.mark.parametrize(
    ("selected", "count", "known"),
    [([8], "2 cases", 1), ([1, 8], "1 case", 0), ([8, 16], "1 case", 1), ([1, 8, 16], "", 0)],
)
def test_what_a_session_leaves_out_of_its_run_is_said(
    tmp_path: Path, selected: list[int], count: str, known: int
) -> None:
    """Its verdicts are not about these cases, whatever an earlier session found."""
    cases = {size: case("tvm", size) for size in (1, 8, 16)}
    run = Run(id="1", records=(measured(cases[1], 0.1),), planned=frozenset(each.id for each in cases.values()))
    found = list(ResumedRun(run, Journal(tmp_path, {}), 1).left_out([cases[size].id for size in selected]))
    assert [text.partition(" of run 1 ")[0] for text in found] == [f"Left out: {count}"] * bool(count)
    end = f"{known} of them with a record" + "; the run stays unfinished" * (16 not in selected)
    assert all(text.endswith(f"{end}.") for text in found)


MADE = {"graph": "g", "files": {}, "workload": "resnet18", "batch_size": 8, "python": "3.12"}


@st.composite
def kept_records(draw: st.DrawFn) -> Record:
    """Return a record of CASE with what decides whether it still stands, as in journals of other days."""
    made = draw(st.sampled_from([MADE, MADE, MADE | {"python": "3.11"}, MADE | {"graph": ""}, MADE | {"files": 1}, {}]))
    if draw(st.integers(0, 3)) == 0:
        return dataclasses.replace(failed(CASE, kind=draw(st.sampled_from(["crashed", "raised"]))), follows_from=made)
    if draw(st.integers(0, 3)) == 0:
        return dataclasses.replace(Record.unchanged(CASE, Comparison(same=True), Model()), follows_from=made)
    compared = Comparison(
        launches=(exact(0.0),) * draw(st.integers(0, 1)),
        alone_problem=draw(st.sampled_from(["", "no memory"])),
        calls_problem=draw(st.sampled_from(["", "no memory"])),
        problem=draw(st.sampled_from(["", "no launch"])),
        broken=draw(st.sampled_from(["", "crashed"])),
    )
    return measured(
        CASE,
        0.1,
        follows_from=made,
        profile=draw(st.sampled_from([{}, {"problem": "only on a GPU"}])),
        calls=draw(st.sampled_from([(), (0.1,)])),
        comparison=draw(st.sampled_from([None, compared])),
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    made=st.lists(kept_records(), max_size=6),
    crashed=st.integers(0, 3),
    scored_by=st.sampled_from(["", "package:score"]),
    asked=st.sets(st.sampled_from(["alone", "calls", "tails", "served", "profiled", "compile_s", "figures"])),
    retry_failed=st.booleans(),
)
def test_an_outline_shows_what_the_records_show(
    tmp_path: Path, made: list[Record], crashed: int, scored_by: str, asked: set[str], *, retry_failed: bool
) -> None:
    """The same cases stand, are stale, or are tried again, for the same reasons, whatever records there are."""
    ours = [dataclasses.replace(CASE, width=number, scored_by=scored_by) for number in range(len(made) + 1)]
    records = [dataclasses.replace(record, case=own) for record, own in zip(made, ours, strict=False)]
    journal = tmp_path / "20260101-000000-000001.jsonl"
    sessions = [{"schema": SCHEMA, "environment": {}}, {"phase": "compile", "case": ours[-1].to_dict()}] * crashed
    lines = [*sessions, {"schema": SCHEMA, "environment": {}}, *(record.to_dict() for record in records)]
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    wanted = Asked(**{name: set(ours[::2]) for name in asked})
    found = []
    for run in (read(tmp_path), outlined(tmp_path)):
        resumed = ResumedRun(run, Journal(tmp_path, {}), 1, retry_failed=retry_failed)
        stands = [resumed.stands(each, lambda record: MADE, wanted) for each in ours]
        kept = {case_: dataclasses.replace(record, started_at=0.0) for case_, record in resumed.kept.items()}
        again = (resumed.stale, resumed.retried, resumed.failed, [*resumed.notes])
        found.append((stands, kept, again, set(resumed.ids), resumed.threads, resumed.description))
    assert found[0] == found[1]
