"""`--ngraph-advise`: the answer of `advise` from what a run of tests has measured."""

from __future__ import annotations

import pytest

TESTS = """
import pytest

@pytest.mark.ngraph(workload="mine:network", compiler=["identity", "deployable:Remembers:spin=2000"], batch_size=[1, 2])
def test_network(measurement): ...
"""


def test_the_workload_has_a_sentence_and_a_command(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=TESTS)
    result = project.runpytest("--ngraph-advise", "--ngraph-fail-on=throughput>1 if compiler=identity")
    result.assert_outcomes(passed=2, failed=2)
    text = " ".join(result.stdout.str().split())  # lines are wrapped
    assert text.count("Deploy `deployable:Remembers:spin=2000` at batch") == 1
    assert text.count("pytest-ngraph deploy 2") == 1
    assert "`identity` at batch 1: " in text
    assert "breaches throughput>1 if compiler=identity" in text


def test_the_goal_is_rank_unless_another_is_given(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        from pytest_ngraph.plugin.assembly import SESSION

        def pytest_report_header(config):
            return f"the goal is {config.stash[SESSION].options.settings.goal}"
        """
    )
    for arguments, goal in (
        (["--ngraph-advise"], "rank"),
        (["--ngraph-advise", "--ngraph-goal=best"], "best"),
        (["--ngraph-advise", "--ngraph-calibrate"], "precision"),
        ([], "precision"),
    ):
        result = project.runpytest("--collect-only", *arguments)
        result.stdout.fnmatch_lines([f"the goal is {goal}"])
