"""Metrics of the users' own that cannot be."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest


def test_a_name_without_a_dot_is_one_message_and_takes_nothing_with_it(quick_project: pytest.Pytester) -> None:
    quick_project.makeconftest(
        """
        from pytest_ngraph.metrics import Metric
        from pytest_ngraph.stats import Estimate

        def pytest_ngraph_metrics(records):
            return [Metric("score", record.case, Estimate.exactly(1.0)) for record in records]
        """
    )
    result = quick_project.runpytest("--compiler=mine:Exact", "--ngraph-fail-on=throughput<1e-9")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    message = [line for line in result.stdout.lines if "your metric 'score' has no dot in its name" in line]
    assert len(message) == 1
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    result.stdout.fnmatch_lines(["plain on cpu*"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("('mine.score', record.case, 1.0)", "returned ('mine.score', *Return pytest_ngraph.Metric*"),
        (
            "Metric('mine.score', record.case, 1.0)",
            "mine.score of plain-*the estimate 1.0. Give an Estimate*",
        ),
        ("Metric('mine.score', 'all', Estimate.exactly(1.0))", "*whose scope is a Case or a Scope*"),
        ("Metric('mine.score', record.case, Estimate.exactly(float('nan')))", "*has the estimate Estimate(value=nan*"),
    ],
)
def test_what_is_no_metric_is_one_message(quick_project: pytest.Pytester, given: str, message: str) -> None:
    quick_project.makeconftest(
        f"""
        from pytest_ngraph import Estimate, Metric

        def pytest_ngraph_metrics(records):
            return [{given} for record in records]
        """
    )
    result = quick_project.runpytest("--compiler=mine:Exact", "--batch-size=1")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    assert any(fnmatch(line, f"*{message}") for line in unwrapped(result)), result.stdout.str()


def unwrapped(result: pytest.RunResult) -> list[str]:
    """All that was printed as one line, and each line of its own."""
    return [" ".join(line.strip() for line in result.stdout.lines), *result.stdout.lines]
