"""Serving under load, as users see it."""

from __future__ import annotations

import pytest

from pytest_ngraph import store

TESTS = """
import pytest

@pytest.mark.ngraph(workload="plain", compiler="mine:Exact", objective="serving")
def test_it(measurement): ...
"""
ID = "plain-mine:Exact-b1-serving-cpu"


def test_a_limit_that_no_rate_keeps_breaches_a_threshold(quick_project: pytest.Pytester) -> None:
    """A call sleeps for half a millisecond, so that it takes longer than the limit on any machine."""
    quick_project.makeini("[pytest]\nngraph_budget = 0.05\nngraph_precision_target = 50%\n")
    quick_project.makepyfile(test_it=TESTS)
    (quick_project.path / "numbers.txt").write_text("1 2 3")
    result = quick_project.runpytest("--ngraph-load-p99=0.1ms", "--ngraph-fail-on=max_rate<1", "--ngraph-load=5")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*max_rate<1 breached: {ID} has max_rate 0.00 requests/s*", "*max rate*"])
    (record,) = store.read(quick_project.path / ".ngraph").records
    assert record.load is not None
    assert record.load.limit_s == 0.0001
    assert record.load.generator
    assert record.follows_from["load"]["load_p99_s"] == 0.0001
    assert record.follows_from["target"]["objective"] == "latency"


DYING = """
import os, signal
from itertools import count

from mine import Exact, Model

class Overloaded(Exact):
    def load(self, artifact, target, folder):
        calls = count()

        def run():
            self.run()
            if next(calls) > 2000:
                os.kill(os.getpid(), signal.SIGSEGV)

        return Model(artifact.reference(), run)
"""


def test_a_model_that_crashes_under_load_breaches_its_threshold(quick_project: pytest.Pytester) -> None:
    """Its rounds and what comes before them are a few hundred calls."""
    quick_project.makeini("[pytest]\nngraph_budget = 0.05\nngraph_precision_target = 50%\n")
    quick_project.makepyfile(test_it=TESTS.replace("mine:Exact", "dying:Overloaded"), dying=DYING)
    (quick_project.path / "numbers.txt").write_text("1 2 3")
    result = quick_project.runpytest("--ngraph-fail-on=max_rate<1", "--ngraph-load=5")
    result.assert_outcomes(failed=1)
    failed = ID.replace("mine:Exact", "dying:Overloaded")
    result.stdout.fnmatch_lines([f"*max_rate<1 breached: {failed} failed under load: crashed in *SIGSEGV*"])
    (record,) = store.read(quick_project.path / ".ngraph").records
    assert record.outcome == "measured"
    assert record.load is not None
    assert record.load.failed


@pytest.mark.parametrize(
    "option", ["--ngraph-load-p99=soon", "--ngraph-load-p99=0", "--ngraph-load-p99=20", "--ngraph-batch-wait=-1ms"]
)
def test_a_time_that_cannot_be_read_is_a_clear_error(quick_project: pytest.Pytester, option: str) -> None:
    result = quick_project.runpytest(option)
    result.stderr.fnmatch_lines([f"*{option}: *is not a time *Write it as 20ms, 2s or 5min."])
