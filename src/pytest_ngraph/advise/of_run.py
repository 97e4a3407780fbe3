"""What to deploy after a run of tests, for each workload: as after a race in which every case was a candidate."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_ngraph import compilers
from pytest_ngraph.advise.answer import Answer, answer
from pytest_ngraph.advise.limits import Held, State
from pytest_ngraph.advise.race import Raced
from pytest_ngraph.case import FP32, SERVING, Case
from pytest_ngraph.gate import Check
from pytest_ngraph.gate.check import Outcome
from pytest_ngraph.gate.limits import Limits
from pytest_ngraph.metrics import DEFINITIONS, Metrics
from pytest_ngraph.metrics.between import TAIL, Between
from pytest_ngraph.metrics.text import quantity
from pytest_ngraph.record import Record

STATES: Mapping[Outcome, State] = {
    "kept": "kept",
    "undecided": "unsure",
    "breached": "breached",
    "absent": "unknown",
}


class Thresholds:
    """The thresholds of a run as limits: a case that breaches one is not advised.

    Args:
        checks: the thresholds, each against a metric. Those of metrics that span cases hold no case back.
        metrics: those that were checked.
    """

    def __init__(self, checks: Iterable[Check], metrics: Metrics) -> None:
        limits = Limits(metrics)
        self._held: dict[Case, list[Held]] = defaultdict(list)
        for check in checks:
            if check.case is not None and check.outcome in STATES:
                self._held[check.case].append(_held(check, limits))

    def held(self, record: Record, between: Between) -> list[Held]:
        """Return what became of each threshold of a case; what other processes would show is in that already."""
        del between
        problem = record.undeployable or ("" if record.serving else _undeployable(record))
        return [Held("breached", problem)] if problem else self._held.get(record.case, [])


def answers(records: Sequence[Record], checks: Iterable[Check], metrics: Metrics, run: str) -> Iterator[Answer]:
    """Yield what to deploy of each workload and objective on each device, in the order of the run.

    What differs between candidates is the compiler, the batch size and the precision. A workload with one candidate
    leaves nothing to choose, and has no answer. Nor has one if a gate left out some of its cases as unchanged: which is
    the fastest is then not known. Under load the highest rate decides, not the time of a sample: `report.answers`.

    Args:
        metrics: those of the records.
        run: the run that has the records.
    """
    thresholds = Thresholds(checks, metrics)
    workloads: dict[Case, dict[Case, list[Record]]] = defaultdict(lambda: defaultdict(list))
    partly: set[Case] = set()
    for case, record in {record.case: record for record in records if record.case.objective != SERVING}.items():
        workload = dataclasses.replace(case.group, batch_size=1, precision=FP32)
        workloads[workload][case.group].append(record)
        if record.outcome == "unchanged":
            partly.add(workload)
    for groups in (groups for workload, groups in workloads.items() if workload not in partly):
        raced = Raced(groups=list(groups.values()))
        if len(raced.latest) > 1:
            named = {case.compiler for case in raced.latest}
            yield answer(raced, named, thresholds, metrics.between, run)


def _undeployable(record: Record) -> str:
    """Return why a model cannot be deployed, as far as that is known without writing its folder; else nothing."""
    if not hasattr(compilers.resolve(record.case.compiler), "deploy"):
        return f"it cannot be deployed: {record.case.compiler} has no method deploy"
    return ""


def _held(check: Check, limits: Limits) -> Held:
    """Return a check beside its case: `p99 31 ms, breaches p99>20ms`. A limit that only the value keeps is unsure."""
    metric, state = check.metric, STATES[check.outcome]
    assert metric is not None
    if metric.estimate is None:
        return Held(state, f"no {metric.name} for {check.threshold}: {metric.absent}")
    how = {"breached": "breaches", "undecided": "may breach", "kept": "keeps"}[check.outcome]
    definition = DEFINITIONS.get(metric.name)
    value = quantity(metric.estimate.value, definition.unit if definition else "ratio")
    text = f"{metric.name} {value}, {how} {check.threshold}"
    if check.outcome == "kept" and limits.evidence(metric, check.threshold.bound).p > TAIL:
        return Held("unsure", f"{text}, but not surely")
    return Held(state, text)
