"""The end of a session: what its records come to, for every report, and whether they become a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_ngraph.case import Case
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.session.judgement import ACCEPT_BROKEN_BASE
from pytest_ngraph.session.options import Options

if TYPE_CHECKING:
    from pytest_ngraph.against.live import LiveBase
    from pytest_ngraph.gate.judge import Judge
    from pytest_ngraph.report.result import RunResult
    from pytest_ngraph.session.judgement import Conclusion
    from pytest_ngraph.store import Run


def end_run(
    run: Run,
    conclusion: Conclusion | None,
    options: Options,
    judges: Sequence[Judge],
    against: LiveBase | None,
    *,
    is_complete: bool,
    whole: bool,
    unmeasured: Sequence[Case],
    notes: Sequence[str],
) -> RunResult:
    """Save a complete run as the stored baseline that the options name, and return what it comes to.

    Args:
        conclusion: what follows from its records; None where there are none.
        judges: what it is compared with.
        against: the base that was measured beside it; None for none.
        is_complete: whether it went to its end, and all of it is stored.
        whole: whether it went to its end.
        unmeasured: planned cases without a record.
        notes: sentences for the end of the summary.
    """
    from pytest_ngraph.metrics import Metrics
    from pytest_ngraph.report.result import RunResult

    problems = list(conclusion.mistakes) if conclusion else []
    try:
        saved = _save(run.id, conclusion, options, is_complete=is_complete)
    except NgraphError as error:
        saved = str(error)
        problems.append(saved)
    broken = _broken_base(against, options)
    return RunResult(
        run=run,
        metrics=conclusion.metrics if conclusion else Metrics(),
        checks=conclusion.checks if conclusion else (),
        verdicts=conclusion.verdicts if conclusion else (),
        metric_verdicts=conclusion.metric_verdicts if conclusion else (),
        unanswered=[*(conclusion.unanswered if conclusion else ()), *broken],
        problems=[*problems, *broken],
        unmeasured=unmeasured,
        whole=whole,
        bases={} if options.gate.calibrate else {judge.name: judge.problem for judge in judges},
        notes=notes,
        saved=saved,
    )


def _broken_base(against: LiveBase | None, options: Options) -> list[str]:
    """Return why the run fails because of its base as a whole: its tests could not be collected."""
    if against is None or not against.broken or options.gate.broken_base != "fail":
        return []
    return [f"{against.name}: {against.broken}. {ACCEPT_BROKEN_BASE}"]


def _save(run: str, conclusion: Conclusion | None, options: Options, *, is_complete: bool) -> str:
    """Save a run as the stored baseline that the options name, if it is complete.

    Returns what became of it, in a sentence; empty where no baseline is named. Raises `StoreError`.
    """
    name = options.gate.save
    if not name:
        return ""
    if not is_complete:
        return f"Not saved as baseline {name}: the run was cut short, or a part of it could not be stored."
    if not run or conclusion is None:
        return f"Not saved as baseline {name}: nothing was measured."
    from pytest_ngraph.against.stored import save

    return save(options.store, name, run, worse=conclusion.worse)
