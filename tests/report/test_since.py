"""Since which commit a case is slower, as a pull request shows it."""

from __future__ import annotations

import shlex

import pytest
from judged import judged, result

from pytest_ngraph.bisect.options import Asked
from pytest_ngraph.report.pull_request import page

SLOW = judged("regressed", "slow", 1.05)
COMMAND = "pytest benchmarks/ --device=cpu --ngraph-against=main --junitxml=gate.xml -k 'slow or not'"
ENDS = ("0000000", "2222222")


def test_the_only_commit_is_named() -> None:
    alone = page(result(SLOW, commits=["5d6e7f8 Widen *the* layers"], ends=ENDS))
    assert "Since 5d6e7f8 Widen &#42;the&#42; layers, the only commit that the base does not have.\n" in alone
    assert "Since" not in page(result(judged("unchanged", "same", 1.0), commits=["5d6e7f8 Widen"], ends=ENDS))


def test_of_several_the_command_finds_it() -> None:
    several = page(result(SLOW, commits=["1111111 one", "2222222 two"], command=COMMAND, ends=ENDS))
    assert "Since one of 2 commits. This finds which:\n\n```sh\npytest-ngraph bisect 0000000 2222222 --case " in several
    assert "--case slow-openvino-b8-xeon -- benchmarks/ --device=cpu -k 'slow or not'\n```" in several
    assert several.index("### Regressed") < several.index("Since one") < several.index("<details>")


def test_a_merge_may_be_it_as_well() -> None:
    shown = page(result(SLOW, commits=["1111111 one"], merges=1, command=COMMAND, ends=ENDS))
    assert "Since 1111111 one, or since 1 merge. This finds which:\n\n```sh\npytest-ngraph bisect 0000000 222" in shown


def test_where_the_base_has_gone_on_no_commit_is_named() -> None:
    """What made the base faster may be there and not here: the only commit of the branch is innocent then."""
    shown = page(result(SLOW, commits=["5d6e7f8 Fix a typo"], lacking=3, command=COMMAND, ends=ENDS))
    assert "5d6e7f8" not in shown.partition("<details>")[0]
    assert "the base has 3 commits that this branch lacks" in shown
    assert "Compare with where the branch left the base, `--ngraph-against=main...`, or rebase.\n" in shown


@pytest.mark.parametrize(
    "kept",
    ["--ngraph-untracked=asr/*.pt", "--ngraph-gate-threads=1", "--ngraph-isolation=case", "--ngraph-cache=off"],
)
def test_how_cases_are_measured_stays_in_the_command(kept: str) -> None:
    outputs = "--ngraph-store=s --ngraph-summary=g.md --ngraph-report=r --ngraph-fail-on='speedup<1' --ngraph-resume"
    given = f"pytest b/ --ngraph-against=main {shlex.quote(kept)} {outputs} --ngraph-margin=3% --ngraph-level=0.05"
    shown = page(result(SLOW, commits=["1111111 one", "2222222 two"], command=given, ends=ENDS))
    command = shlex.split(shown.partition("```sh\n")[2].partition("\n```")[0])
    assert command[-2:] == ["b/", kept]
    assert command[command.index("--") - 2 : command.index("--")] == ["--margin=3%", "--level=0.05"]
    Asked(good="a", bad="b", arguments=tuple(command[command.index("--") + 1 :]))
