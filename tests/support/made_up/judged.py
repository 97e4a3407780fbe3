"""A made-up run with a verdict of each kind."""

from __future__ import annotations

from typing import Any

from synthetic import case, failed, measured

from pytest_ngraph.case import Case
from pytest_ngraph.gate import MetricVerdict, Threshold
from pytest_ngraph.gate.verdict import Verdict, VerdictName
from pytest_ngraph.metrics import compute
from pytest_ngraph.record import Record
from pytest_ngraph.report.result import RunResult
from pytest_ngraph.stats import Estimate
from pytest_ngraph.store import Run

MAIN = "main at 1a2b3c4"
BUSY = "the machine is too busy: 12 of 20 rounds disturbed, CPU pressure 61 %"


def judged(name: VerdictName, workload: str, ratio: float | None = None, **fields: Any) -> Verdict:
    """Return a verdict on a case of this workload."""
    given: dict[str, Any] = {"against": MAIN}
    if ratio is not None:
        given |= {"ratio": Estimate(ratio, ratio - 0.005, ratio + 0.005), "confidence": 0.999}
        given |= {"launches": 4, "fresh": 3, "rounds": 20, "detectable": 0.021}
    return Verdict(case=case("openvino", 8, workload=workload), name=name, **given | fields)


def held(name: VerdictName, threshold: str, of: Case, **fields: Any) -> MetricVerdict:
    """Return a verdict on a metric of this case."""
    given = {"against": MAIN} | ({"confidence": 0.999} if "change" in fields else {})
    return MetricVerdict(threshold=Threshold.parse(threshold), scope=of, name=name, **given | fields)


def verdicts() -> list[Verdict]:
    return [
        judged("unchanged", "same", 1.0),
        judged("regressed", "slow", 1.03),
        judged("regressed", "slower", 1.2),
        judged("inconclusive", "doubtful", 1.01, reason=BUSY),
        judged("improved", "fast", 0.9),
        judged("new", "fresh", reason=f"{MAIN} does not have it"),
        judged("missing", "gone", reason=f"only {MAIN} has it"),
    ]


def result(*found: Verdict, records: tuple[Record, ...] | None = None, **fields: Any) -> RunResult:
    """Return a run with these verdicts. By default, `records` has one per verdict, and one that failed."""
    if records is None:
        of = [v.case for v in found if v.name != "missing"]
        records = (*(measured(one, 0.02) for one in of), failed(case("tvm", 8, workload="broken")))
    defaults: dict[str, Any] = {
        "run": Run(id="20250102-030405-6", environment={"processor": "Xeon"}, records=records),
        "metrics": compute(records),
        "verdicts": found,
        "bases": {MAIN: ""} if found else {},
        "head": "feature at 5d6e7f8",
        "command": "pytest benchmarks/ --ngraph-against=main",
    }
    return RunResult(**defaults | fields)
