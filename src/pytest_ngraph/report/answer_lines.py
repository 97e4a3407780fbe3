"""The answer of a run in a few lines, for the end of its summary: what to deploy, too close, or failed."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_ngraph.case import IDENTITY, LATENCY, Case
from pytest_ngraph.metrics import Metrics
from pytest_ngraph.metrics.cells import Key, key_of, why_not_measured
from pytest_ngraph.metrics.text import number, quantity
from pytest_ngraph.record import NOT_FAILED, Record
from pytest_ngraph.report.answers import Answer, Candidate, Goal, answers, judged_by, winners
from pytest_ngraph.report.lines import INDENT, Line, wrapped
from pytest_ngraph.report.table import Column, fitting, row
from pytest_ngraph.wording import counted, listed

MOST = 3
"""Maximum number of rows, and of names in a line."""
GOALS: tuple[Goal, ...] = ("lowest latency", "highest throughput", "highest rate")


def answer_lines(records: Sequence[Record], metrics: Metrics, width: int) -> list[Line]:
    """Return the answer; where no two compilers were compared, only what failed and what did not settle."""
    latest = [*{record.case: record for record in records}.values()]
    found = _answered(latest, metrics)
    if not any(answer.runner_up for own in found.values() for answer in own):
        return wrapped("; ".join(_failed(latest)), width, "doubt")
    rows = _rows(found, metrics, width) if len(found) <= MOST else _counted(found, width)
    close = [answer for own in found.values() for answer in own if answer.is_close]
    last = [*_close(close), *_failed(latest)]
    return [Line("What to deploy", "heading"), *rows, *wrapped("; ".join(last), width, "doubt")]


def _answered(records: Sequence[Record], metrics: Metrics) -> dict[Key, list[Answer[Record]]]:
    """Return the answers for each workload on each device, whatever the objective of its cases.

    A workload has none if a gate left out some of its cases as unchanged: which is the fastest is then not known.
    """
    groups: dict[Key, list[Candidate[Record]]] = {}
    partly = {_workload(record.case) for record in records if record.outcome == "unchanged"}
    for record in records:
        case = record.case
        if why_not_measured(record) or record.undeployable:
            continue
        metric = metrics[case][judged_by(case)]
        throughput = metric.estimate
        if throughput is not None and throughput.value > 0:
            size, steepness = case.batch_size, metric.steepness
            candidate = Candidate(
                case.compiler, size, case.objective, throughput, record, steepness, record.measured_in
            )
            groups.setdefault(_workload(case), []).append(candidate)
    return {key: [*answers(own, metrics.between)] for key, own in groups.items() if key not in partly}


def _workload(case: Case) -> Key:
    return key_of(dataclasses.replace(case, objective=LATENCY))


def _rows(found: dict[Key, list[Answer[Record]]], metrics: Metrics, width: int) -> Iterator[Line]:
    """Yield a line for each workload."""
    by_goal = [{answer.goal: answer for answer in own} for own in found.values()]
    columns = [
        Column(heading="", cells=[_title(key, len({key.device for key in found}) > 1) for key in found], left=True)
    ]
    for rank, goal in enumerate(goal for goal in GOALS if any(goal in own for own in by_goal)):
        cells = [_choice(own[goal], metrics) if goal in own else "" for own in by_goal]
        columns.append(Column(heading=goal, cells=cells, left=True, rank=rank))
    shown = fitting(columns, width - len(INDENT))
    for index in range(len(found)):
        yield from wrapped(row(shown, index).rstrip(), width, "best")


def _title(key: Key, several: bool) -> str:
    return "-".join((key.network_label, *key.variant)) + (f" on {key.device}" if several else "")


def _choice(answer: Answer[Record], metrics: Metrics) -> str:
    """Return `openvino b8 25.1/s x1.39 sure`."""
    best = answer.best
    is_latency = answer.goal == "lowest latency" and best.latency_s is not None
    what = " requests" if answer.goal == "highest rate" else ""
    value = quantity(best.latency_s or 0.0, "s") if is_latency else f"{number(best.throughput.value)}{what}/s"
    speedup = None if what else metrics[best.of.case]["speedup"].estimate
    gain = f" ×{speedup.value:.2f}" if speedup and best.compiler != IDENTITY else ""
    return f"{best.compiler} b{best.batch_size} {value}{gain} {answer.verdict}"


def _counted(found: dict[Key, list[Answer[Record]]], width: int) -> Iterator[Line]:
    """Yield a line for each device: how many workloads each compiler is best for."""
    devices: dict[str, list[Answer[Record]]] = {}
    for key, own in found.items():
        devices.setdefault(key.device, []).extend(own)
    for device, own in [*devices.items()][: MOST if len(devices) <= MOST else MOST - 1]:
        parts = [
            f"{goal}: {_winners([answer for answer in own if answer.goal == goal])}"
            for goal in GOALS
            if any(answer.goal == goal for answer in own)
        ]
        yield from wrapped(f"{device}: {'; '.join(parts)}", width, "best")
    if len(devices) > MOST:
        yield Line(f"{INDENT}and {len(devices) - MOST + 1} more devices", "note")


def _winners(found: Sequence[Answer[Record]]) -> str:
    """Return `openvino 12 of 15 (10 sure), tvm 3 (2)`."""
    (most, times, sure), *others = winners(found)
    first = f"{most} {times} of {len(found)} ({sure} sure)"
    return listed([first, *(f"{name} {count} ({of_these})" for name, count, of_these in others)], MOST)


def _close(close: Sequence[Answer[Record]]) -> Iterator[str]:
    """Yield how many answers are too close to call, and the compilers of the closest."""
    if close:
        closest = min(close, key=lambda answer: answer.lead)
        names = " or ".join([closest.best.compiler, *(rival.compiler for rival in closest.rivals)][:MOST])
        yield f"too close: {len(close)} ({_title(key_of(closest.best.of.case), several=False)}: {names})"


def _failed(records: Sequence[Record]) -> Iterator[str]:
    failed = [each for each in records if why_not_measured(each) and each.outcome not in NOT_FAILED]
    undeployable = [each for each in records if not why_not_measured(each) and each.undeployable]
    for what, found in (("failed", failed), ("cannot be deployed", undeployable)):
        if found:
            compilers = Counter(each.case.compiler for each in found).most_common()
            names = listed([f"{name} {count}" for name, count in compilers], MOST)
            yield f"{what}: {counted(len(found), 'case')} ({names})"
    unsettled = sum(not why_not_measured(each) and not each.stable for each in records)
    if unsettled:
        yield f"did not settle: {unsettled}"
