from __future__ import annotations

import dataclasses
import json
import math
import time
from datetime import timedelta
from pathlib import Path

import nights
import numpy as np
import pytest
from nights import row
from synthetic import case

from pytest_ngraph.cli import main
from pytest_ngraph.history import series, steps
from pytest_ngraph.history.chain import chained
from pytest_ngraph.history.index import Index
from pytest_ngraph.history.series import Series

QUIET = case("tvm")
SLOWER = [1.0] * 12 + [1.04] * 8


def loaded(store: Path, pattern: str = "") -> list[Series]:
    with Index(store) as index:
        index.update()
        return series.load(index, pattern)


def test_what_cannot_be_read_is_named_and_fails_only_as_a_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nights.write(tmp_path, {nights.CASE: [1.0] * 4})
    damaged = max(tmp_path.glob("*.jsonl"))
    with damaged.open("a") as file:
        file.write("not JSON\n")
    assert main(["history", f"--store={tmp_path}", "--fail"]) == 0
    printed = capsys.readouterr()
    assert printed.err == f"{damaged}: 1 damaged line\n"
    assert "of up to 4 nights" in printed.out
    later = tmp_path / "later.jsonl"
    later.write_text('{"schema": 99, "run": "later", "environment": {}}\n')
    assert main(["history", f"--store={tmp_path}"]) == 0
    assert f"{later}: run later was written with schema 99" in capsys.readouterr().err
    assert main(["history", f"--store={tmp_path}", "--fail"]) == 1


def test_nights_beside_a_second_anchor_are_ratios_to_the_first() -> None:
    old = [row(night, 0.05) for night in range(10)]
    link = row(9, 0.02, anchor="b", head=nights.commit(9))  # the same commit beside both: b takes 3 % more than a
    new = [row(night, 0.02, anchor="b") for night in range(10, 20)]
    found = chained([*old, link, *new])
    assert found.chain.values == pytest.approx([0.05] * 21)
    assert found.chain.links[0].tolist() == [False] * 10 + [True] * 11
    assert found.links[0].log == pytest.approx(0.03)
    assert found.links[0].error == pytest.approx(0.003 * math.sqrt(2))


def test_the_new_anchors_own_night_links_it_to_the_old_one() -> None:
    old = [row(night, 0.01, head="b" if night == 4 else "") for night in range(8)]
    found = chained([*old, *(row(night, 0.0, anchor="b") for night in range(8, 12))])
    assert found.links[0][3:] == pytest.approx((0.01, 0.003))
    assert found.chain.values == pytest.approx([0.01] * 12)


def test_the_run_that_links_a_new_anchor_is_no_night() -> None:
    old = [row(night, 0.05) for night in range(4)]
    link = row(4, 0.03, head="b")._replace(branch="")
    new = [row(night, 0.02, anchor="b") for night in range(5, 8)]
    found = chained([*old, link, *new])
    assert [each.run for each in found.rows] == ["0", "1", "2", "3", "5", "6", "7"]
    assert found.links[0][2:] == pytest.approx((4, 0.03, 0.003))
    assert found.chain.values == pytest.approx([0.05] * 7)
    only = chained([link, *new])
    assert [each.run for each in only.rows] == ["4", "5", "6", "7"], "without it, the first anchor would be unknown"


def test_several_links_are_averaged_and_chained() -> None:
    rows = [row(0, 0.00), row(1, 0.02, head="b"), row(2, 0.04, head="b")]
    rows += [row(3, 0.01, anchor="b"), row(4, 0.05, anchor="b", head="c"), row(5, 0.0, anchor="c")]
    found = chained(rows)
    assert [link.log for link in found.links] == pytest.approx([0.03, 0.05])
    assert found.links[0].error == pytest.approx(0.003 / math.sqrt(2))
    assert found.chain.values == pytest.approx([0.0, 0.02, 0.04, 0.04, 0.08, 0.08])


def test_anchors_that_were_never_compared_have_no_step_between_them() -> None:
    rows = [*(row(night, 0.0) for night in range(30)), *(row(night, 0.4, anchor="b") for night in range(30, 60))]
    found = chained(rows)
    assert found.links[0].error == math.inf
    assert found.chain.values == pytest.approx(np.zeros(60))


def test_a_night_beside_the_old_anchor_only_links_once_the_new_one_is_used() -> None:
    rows = [row(0, 0.0), row(1, 0.0, anchor="b"), row(2, 0.0, head="b"), row(3, 0.0, anchor="b")]
    assert [each.run for each in chained(rows).rows] == ["0", "1", "3"]


@pytest.mark.parametrize("strays", [1, 2, 5])
def test_nights_go_on_after_some_beside_another_anchor(strays: int) -> None:
    """Somebody measures once beside `b`, which is linked to `a`, and the nights go on beside `a`."""
    before = [row(night, 0.0) for night in range(10)]
    link = row(10, 0.03, head="b")._replace(branch="")
    beside = [row(11 + night, -0.03, anchor="b") for night in range(strays)]
    after = [row(20 + night, 0.05) for night in range(10)]
    found = chained([*before, link, *beside, *after])
    assert [each.run for each in found.rows] == [each.run for each in (*before, *beside, *after)]
    assert found.chain.values == pytest.approx([0.0] * (10 + strays) + [0.05] * 10)
    ((step,),) = steps.find([found.chain])
    assert step.place == 10 + strays


@pytest.mark.parametrize("strays", [1, 2, 5])
def test_nights_beside_an_anchor_that_nothing_links_hide_no_later_step(strays: int) -> None:
    before = [row(night, 0.0) for night in range(10)]
    beside = [row(10 + night, 0.4, anchor="b") for night in range(strays)]
    after = [row(20 + night, 0.0 if night < 6 else 0.05) for night in range(12)]
    found = chained([*before, *beside, *after])
    assert [each.anchor for each in found.left_out] == ["b"] * (strays if strays <= 2 else 0)
    ((step,),) = steps.find([found.chain])
    assert found.rows[step.place].run == "26"
    assert step.change.value == pytest.approx(0.05)


def test_an_anchor_that_a_wrong_clock_puts_first_ends_nothing() -> None:
    rows = [row(0, 0.0, anchor="b"), *(row(night, 0.02) for night in range(1, 9))]
    rows += [
        row(9, 0.01, head="b")._replace(branch=""),
        *(row(night, 0.01, anchor="b") for night in range(10, 18)),
    ]
    found = chained(rows)
    assert [each.run for each in found.rows] == [each.run for each in rows if each.run != "9"]
    assert found.chain.values == pytest.approx([0.0] + [0.01] * 16)


def test_a_night_measured_once_more_beside_the_earlier_anchor_only_links() -> None:
    rows = [*(row(night, 0.02) for night in range(4)), row(4, 0.0, anchor="b", head="x")]
    rows += [row(5, 0.02, head="x"), *(row(night, 0.0, anchor="b") for night in range(6, 9))]
    found = chained(rows)
    assert [each.run for each in found.rows] == [each.run for each in rows if each.run != "5"]
    assert found.chain.values == pytest.approx([0.02] * 8)


def test_nights_of_one_commit_go_on_beside_another_anchor() -> None:
    """A repository of benchmarks that follows its libraries: its commit never changes."""
    before = [row(night, 0.0, head="x") for night in range(10)]
    link = row(10, 0.0, head="b")._replace(branch="")
    after = [row(11 + night, 0.0 if night < 6 else 0.05, anchor="b", head="x") for night in range(12)]
    found = chained([*before, link, *after])
    assert [each.run for each in found.rows] == [each.run for each in (*before, *after)]
    ((step,),) = steps.find([found.chain])
    assert found.rows[step.place].run == "17"


def test_an_earlier_commit_measured_once_more_among_later_nights_only_links() -> None:
    before = [row(night, 0.02) for night in range(4)]
    beside = [row(night, 0.0, anchor="b") for night in range(4, 10)]
    again = row(20, 0.0, anchor="b", head=nights.commit(1))
    found = chained([*before, *beside[:3], again, *beside[3:]])
    assert [each.run for each in found.rows] == [each.run for each in (*before, *beside)]
    assert found.links[0].log == pytest.approx(0.02)


def test_a_step_has_its_commits_and_what_else_changed(tmp_path: Path) -> None:
    nights.write(tmp_path, {nights.CASE: SLOWER[:12], QUIET: [1.0] * 12})
    newer = nights.ENVIRONMENT | {"torch": "2.15.0", "cores": "2,3"}
    nights.write(tmp_path, {nights.CASE: SLOWER[12:], QUIET: [1.0] * 8}, environment=newer, first=12)
    slower, quiet = loaded(tmp_path)
    assert (slower.case_id, quiet.case_id) == (nights.CASE.id, QUIET.id)
    assert quiet.steps == ()
    (found,) = slower.steps
    assert (found.good, found.bad) == (nights.commit(11), nights.commit(12))
    assert found.ratio.low < 1.04 < found.ratio.high
    assert found.libraries == ("torch 2.14.0 -> 2.15.0",)
    assert found.machine == ()
    assert found.bisect(slower.case_id, slower.parts) == (
        f"pytest-ngraph bisect {'0' * 12} {'0' * 12} --case resnet18-openvino-b1-xeon -- --device=xeon"
    )


def test_the_command_asks_for_what_tests_may_not_name(tmp_path: Path) -> None:
    case = dataclasses.replace(
        nights.CASE, compiler="openvino:streams=2", batch_size=4, objective="throughput", sizes=(("seq_len", 128),)
    )
    nights.write(tmp_path, {case: SLOWER, QUIET: [1.0] * 20})
    slower, _ = loaded(tmp_path)
    command = slower.steps[0].bisect(slower.case_id, slower.parts)
    assert command.endswith(
        " -- --device=xeon --batch-size=4 --objective=throughput --compiler=openvino:streams=2 --size=seq_len=128"
    )


def test_the_command_shows_steps_and_fails_for_new_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights.write(tmp_path, {nights.CASE: SLOWER, QUIET: [1.0] * 20})
    store = f"--store={tmp_path}"
    assert main(["history", store]) == 0
    printed = capsys.readouterr().out
    assert f"{nights.CASE.id}: 4." in printed
    assert "% slower (95 % interval " in printed
    assert " since 2026-01-13\n" in printed
    assert printed.endswith("1 step: 1 slower, 0 faster, in 2 series of up to 20 nights\n")
    assert main(["history", store, "--fail"]) == 1
    assert main(["history", store, "--fail", "--case=tvm"]) == 0
    capsys.readouterr()
    assert main(["history", store, "--json", "--case=*openvino*"]) == 0
    ((data),) = json.loads(capsys.readouterr().out)
    assert data["case"] == nights.CASE.id
    assert len(data["nights"]) == 20
    assert data["nights"][12]["value"] == pytest.approx(1.04, abs=0.005)
    assert data["anchors"] == [{"name": "v1.0", "start": 0, "beside": None, "ratio": None, "error": None}]
    assert [step["place"] for step in data["steps"]] == [12]


def test_a_step_is_new_from_when_it_became_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The night after it is not enough to know it, so that a nightly job would never fail if its beginning counted."""
    nights.write(tmp_path, {nights.CASE: SLOWER, QUIET: [1.0] * 20})
    store = f"--store={tmp_path}"
    for outputs in ([], ["--json"], [f"--output={tmp_path / 'page'}"]):
        assert main(["history", store, "--fail", since(12.5), *outputs]) == 1, "known from night 13 on"
        shown = capsys.readouterr().out
        assert main(["history", store, "--fail", since(13.5), *outputs]) == 0
        known = capsys.readouterr().out
        if outputs == ["--json"]:
            assert [len(each["steps"]) for each in (*json.loads(shown), *json.loads(known))] == [1, 0, 0, 0]
        elif not outputs:
            assert " since 2026-01-13\n" in shown
            assert known == "0 steps, in 2 series of up to 20 nights\n"
    assert '"steps":[]' in (tmp_path / "page" / "history.html").read_text()


def test_a_new_anchor_that_was_never_compared_with_the_old_one_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A slowdown between the last night beside the one and the first beside the other is not seen."""
    nights.write(tmp_path, {nights.CASE: [1.0] * 6})
    nights.write(tmp_path, {nights.CASE: [1.0] * 6}, first=6, anchor="v2.0", anchor_commit="b" * 40)
    store = f"--store={tmp_path}"
    assert main(["history", store]) == 0
    assert main(["history", store, "--fail"]) == 1
    assert main(["history", store, "--fail", since(5.5)]) == 1
    assert main(["history", store, "--fail", since(6.5)]) == 0, "known for a day"
    assert "new beside v2.0, which was never compared with v1.0" in capsys.readouterr().err
    nights.write(tmp_path, {nights.CASE: [1.0]}, first=12, head=nights.commit(11))  # the last night once more
    assert main(["history", store, "--fail"]) == 0


def test_a_second_step_of_a_case_is_new_beside_a_known_one(tmp_path: Path) -> None:
    nights.write(tmp_path, {nights.CASE: [1.0] * 8 + [1.04] * 8 + [1.08] * 5})
    assert main(["history", f"--store={tmp_path}", "--fail", since(16.5)]) == 1
    assert main(["history", f"--store={tmp_path}", "--fail", since(19.5)]) == 0


def since(night: float) -> str:
    """Return the option that asks what is new since this night, a fraction of a day after it began."""
    age_s = time.time() - (nights.FIRST + timedelta(days=night)).timestamp()
    return f"--since={age_s / 86400:.3f}d"


def test_a_step_by_uncommitted_changes_has_no_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bisection between a commit and the same one with changes would end in "are the same commit"."""
    committed = nights.commit(7)
    for first, mark, ratio in ((0, "", 1.0), (10, "+", 1.04)):
        nights.write(tmp_path, {nights.CASE: [ratio] * 10}, first=first, head=committed + mark)
    assert main(["history", f"--store={tmp_path}"]) == 0
    shown = capsys.readouterr().out
    short = committed[:10]
    assert f"  between {short} and {short} with uncommitted changes\n" in shown
    assert "bisect" not in shown
    (found,) = loaded(tmp_path)
    other = dataclasses.replace(found.steps[0], good=f"{nights.commit(3)}+")
    assert other.bisect("a", {}) == f"pytest-ngraph bisect {'0' * 12} {'0' * 12} --case a"


def test_improvements_fail_nothing(tmp_path: Path) -> None:
    nights.write(tmp_path, {nights.CASE: [1.0] * 10 + [0.95] * 8})
    assert main(["history", f"--store={tmp_path}", "--fail"]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--case=resnet19"], "unknown case 'resnet19'"), (["--branch=mine"], "unknown branch 'mine'")],
)
def test_a_pattern_that_no_case_has_is_a_mistake(
    tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nights.write(tmp_path, {nights.CASE: [1.0]})
    assert main(["history", f"--store={tmp_path}", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_store_without_a_history_says_how_to_make_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", f"--store={tmp_path}"]) == 2
    assert "pytest --ngraph-history" in capsys.readouterr().err
