"""What a run comes to besides its figures: what fails it, and what becomes of its baseline."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from changing import MAIN

from pytest_ngraph.against.options import GateOptions, Policy
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.metrics import Metrics
from pytest_ngraph.report.result import RunResult
from pytest_ngraph.session.ending import end_run
from pytest_ngraph.session.judgement import Conclusion
from pytest_ngraph.session.options import Axis, Options
from pytest_ngraph.settings import Settings
from pytest_ngraph.store import Run

AXES = ("devices", "compilers", "batch_sizes", "precisions", "objectives")
NOTHING = Conclusion(Metrics(), [], [], [], [], [])


def ended(store: Path, *, broken: str = "", policy: Policy = "fail", save: str = "", is_complete: bool) -> RunResult:
    options = Options(
        inventory=dict(BUILT_IN),
        settings=Settings(),
        store=store,
        thresholds=(),
        gate=GateOptions(against="main", broken_base=policy, save=save),
        **dict.fromkeys(AXES, Axis(None, None)),  # type: ignore[arg-type]  # by name
    )
    base = SimpleNamespace(name=MAIN, problem="", broken=broken)
    run = Run(id="20260101-000000-000001")
    parts = {"is_complete": is_complete, "whole": is_complete, "unmeasured": (), "notes": ()}
    return end_run(run, NOTHING, options, [base], base, **parts)  # type: ignore[arg-type]  # stand-ins


@pytest.mark.parametrize(("policy", "fails"), [("fail", True), ("warn", False)])
def test_a_base_whose_tests_cannot_be_collected_fails_the_run(tmp_path: Path, policy: Policy, *, fails: bool) -> None:
    result = ended(tmp_path, broken="not all tests could be collected", policy=policy, is_complete=True)
    assert result.unanswered == result.problems
    assert bool(result.problems) is fails
    assert all(text.startswith(f"{MAIN}: not all tests could be collected. To pass") for text in result.problems)


def test_a_run_that_was_cut_short_becomes_no_baseline(tmp_path: Path) -> None:
    result = ended(tmp_path, save="v1", is_complete=False)
    assert result.saved.startswith("Not saved as baseline v1: the run was cut short")
    assert not list(tmp_path.iterdir())


def test_a_baseline_that_cannot_be_kept_is_a_problem(tmp_path: Path) -> None:
    """Such as that of a run which the store no longer has."""
    result = ended(tmp_path, save="v1", is_complete=True)
    assert result.problems == [result.saved]
