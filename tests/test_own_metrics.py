"""Metrics of the users' own that cannot be."""

from __future__ import annotations

import pytest


def test_a_name_without_a_dot_is_one_message_and_takes_nothing_with_it(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        from pytest_ngraph.metrics import Metric
        from pytest_ngraph.stats import Estimate

        def pytest_ngraph_metrics(records):
            return [Metric("score", record.case, Estimate.exactly(1.0)) for record in records]
        """
    )
    result = project.runpytest_subprocess("--compiler=mine:Exact", "--ngraph-fail-on=throughput<1e-9")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    told = [line for line in result.stdout.lines if "metric of your own is named 'score', which has no dot" in line]
    assert len(told) == 1
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    result.stdout.fnmatch_lines(["mine:network on cpu*"])
