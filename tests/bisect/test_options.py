"""What the pytest of a bisection is started with."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from repository import Repository

from pytest_ngraph.bisect.options import Asked
from pytest_ngraph.bisect.question import Question
from pytest_ngraph.plugin.assembly import SESSION

OF_OTHER_RUNS = """
ngraph_advise = true
ngraph_against = main
ngraph_against_python = python
ngraph_calibrate = true
ngraph_compare = main
ngraph_dry_run = true
ngraph_fail_on = speedup<1.2
ngraph_history = v1.0
ngraph_max_seconds = 1
ngraph_report = report
ngraph_resume = latest
ngraph_save = main
ngraph_scheduler = tls://head:8786
ngraph_serving = true
ngraph_tails = 1
ngraph_two_sided = true
"""


def options_of(pytester: pytest.Pytester, ini: str) -> dict[str, Any]:
    """Return what this ini file and the options of a step come to."""
    pytester.makeini(f"[pytest]\n{ini}")
    question = Question(purpose="search", head="b", base="a", cases=("case",), level=0.001)
    arguments = Asked(good="v1", bad="HEAD").of_pytest(question, "--ngraph-against=HEAD", "runs", "summary.md")
    return dataclasses.asdict(pytester.parseconfigure(*arguments).stash[SESSION].options)


def test_what_the_ini_file_sets_for_other_runs_has_no_part(pytester: pytest.Pytester) -> None:
    Repository.create(pytester.path).commit("begin")
    assert options_of(pytester, OF_OTHER_RUNS) == options_of(pytester, "")
