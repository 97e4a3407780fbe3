"""The first screen of the page: what to deploy and how sure that is, what is too close to call, and what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import polars as pl

from pytest_ngraph.case import FP32, IDENTITY, LATENCY, SERVING
from pytest_ngraph.metrics.text import number, quantity
from pytest_ngraph.report.answers import Answer, Candidate, winners
from pytest_ngraph.report.study.answers import Answered, answered
from pytest_ngraph.report.study.columns import text
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures.rows import CELL, PLACE
from pytest_ngraph.report.study.sure import LEFT_OUT
from pytest_ngraph.wording import counted, listed

Row = dict[str, Any]
MOST_ROWS = 60
"""Maximum number of workloads; the table `deploy` has all."""
MOST_LISTED = 5
"""Maximum number of lines of what is too close, and of what failed."""
MOST_NAMED = 3
MOST_PLACES = 4
CANNOT = "cannot be deployed"
FEW = 4
"""Up to this many workloads, their own rows are a summary."""


class Choice(NamedTuple):
    """An answer in words.

    Attributes:
        value: latency or throughput.
        gain: over identity, `x 1.65 identity`; empty where that is not known.
        verdict: `sure`, `too close`, or `only one` where no other compiler was measured.
        rivals: which others may be as good; empty where it is sure.
        cost: what the choice costs, `compiles in 5.2 s, 181 MiB`.
        objective: of the case, where calls overlap and the goal does not say so.
    """

    goal: str
    compiler: str
    batch_size: int
    value: str
    gain: str
    verdict: str
    rivals: str
    cost: str
    objective: str


class Workload(NamedTuple):
    """The choices for one workload on one device in one precision, whatever the objective of the cases."""

    title: str
    place: str
    choices: list[Choice]


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstScreen:
    """What the first screen shows.

    Attributes:
        counts: numbers with what they count and the id of the section that has more.
        summaries: which compiler answers most, a sentence for each place; empty where few workloads say it themselves.
        more: how many workloads are not shown, and where they are; else empty.
        close, failed: lines, the most important ones first.
        more_close, more_failed: how many lines are left out.
    """

    counts: list[tuple[str, str, str]]
    summaries: list[str]
    workloads: list[Workload]
    more: str
    close: list[str]
    more_close: int
    failed: list[str]
    more_failed: int


def first_screen(study: Study) -> FirstScreen:
    """Return the first screen of a study."""
    found = answered(study)
    close = [_close(each) for each in sorted(found, key=lambda each: each.answer.lead) if each.answer.is_close]
    failed = list(_failed(study))
    by_workload: dict[tuple[str, str], list[Answered]] = {}
    for each in found:
        by_workload.setdefault((each.of["network"], _place(each.of)), []).append(each)
    count, shown = len(by_workload), dict(islice(by_workload.items(), MOST_ROWS))
    return FirstScreen(
        counts=list(_counts(study, found)),
        summaries=list(_summaries(found)) if count > FEW else [],
        workloads=_workloads(study, shown),
        more=f"The first {MOST_ROWS} of {count:,} workloads: tables/deploy.csv has all." if count > MOST_ROWS else "",
        close=close[:MOST_LISTED],
        more_close=len(close[MOST_LISTED:]),
        failed=failed[:MOST_LISTED],
        more_failed=len(failed[MOST_LISTED:]),
    )


def _counts(study: Study, found: Sequence[Answered]) -> Iterator[tuple[str, str, str]]:
    verdicts = Counter(each.answer.verdict for each in found)
    yield f"{verdicts['sure']:,}", f"of {counted(len(found), 'answer')} sure", "answers"
    yield f"{verdicts['too close']:,}", "too close to call", "close"
    yield (
        f"{(study.cases['outcome'] == 'failed').sum():,}",
        f"of {counted(study.cases.height, 'case')} failed",
        "failed",
    )
    if undeployable := (study.cases["undeployable"] != "").sum():
        yield f"{undeployable:,}", CANNOT, "failed"
    if study.unmeasured:
        yield f"{study.unmeasured:,}", "not measured so far", "failed"
    yield f"{(~study.measured['stable']).sum():,}", "did not settle in their budget", "failed"


def _workloads(study: Study, by_workload: Mapping[tuple[str, str], Sequence[Answered]]) -> list[Workload]:
    cells = [_cell(each) for own in by_workload.values() for each in own]
    wanted = pl.DataFrame(cells, _schema_of(study), orient="row")
    speedups = study.values("speedup", *CELL).join(wanted, on=CELL, how="semi", nulls_equal=True)
    gains = {tuple(row[:-1]): row[-1] for row in speedups.iter_rows()}

    def choice(each: Answered) -> Choice:
        return _choice(each, None if each.answer.goal == "highest rate" else gains.get(_cell(each)))

    return [Workload(network, place, [*map(choice, own)]) for (network, place), own in by_workload.items()]


def _cell(found: Answered) -> tuple[Any, ...]:
    """Return what identifies the best case."""
    return tuple(found.of[name] for name in CELL)


def _schema_of(study: Study) -> pl.Schema:
    """Return the types of the columns that identify a case."""
    return study.cases.select(CELL).schema


def _choice(found: Answered, gain: float | None) -> Choice:
    answer, of = found
    best = answer.best
    return Choice(
        goal=answer.goal,
        compiler=best.compiler,
        batch_size=best.batch_size,
        value=_value(answer, best),
        gain="" if gain is None or best.compiler == IDENTITY else f"×\u00a0{gain:.2f} identity",
        verdict=answer.verdict,
        rivals=_rivals(answer),
        cost=_cost(of),
        objective="" if best.objective in (LATENCY, SERVING) else best.objective,
    )


def _value(answer: Answer[int], candidate: Candidate[int]) -> str:
    if answer.goal == "lowest latency" and candidate.latency_s is not None:
        return quantity(candidate.latency_s, "s")
    of = "requests" if answer.goal == "highest rate" else "samples"
    return f"{number(candidate.throughput.value)} {of}/s"


def _rivals(answer: Answer[int]) -> str:
    """Return who may be as good, and how far behind each is."""
    return listed([f"{rival.compiler} ({_behind(answer, rival)})" for rival in answer.rivals], MOST_NAMED)


def _behind(answer: Answer[int], rival: Candidate[int]) -> str:
    """Return how much slower a rival is: `-1.2 %`."""
    size = "" if rival.batch_size == answer.best.batch_size else f"batch {rival.batch_size}, "
    return f"{size}-{100 * answer.behind(rival):.1f}\u00a0%"


def _cost(row: Row) -> str:
    """Return what a case costs: to compile, and then to serve where that was measured, else to measure."""
    parts = [] if row["compile_s"] is None else [f"compiles in {quantity(row['compile_s'], 's')}"]
    if row["cold_start_s"] is not None:
        parts.append(f"starts in {quantity(row['cold_start_s'], 's')}")
    memory = next(
        (row[name] for name in ("serving_memory_bytes", "device_memory_bytes", "worker_memory_bytes") if row[name]),
        None,
    )
    return ", ".join([*parts, *([] if memory is None else [quantity(memory, "B")])])


def _summaries(found: Sequence[Answered]) -> Iterator[str]:
    places: dict[str, list[Answer[int]]] = {}
    for answer, of in found:
        places.setdefault(_place(of), []).append(answer)
    for place, own in list(places.items())[:MOST_PLACES]:
        goals = dict.fromkeys(answer.goal for answer in own)
        yield f"On {place}, " + "; ".join(_winners(goal, [a for a in own if a.goal == goal]) for goal in goals) + "."
    if len(places) > MOST_PLACES:
        yield f"{len(places) - MOST_PLACES} more devices are in the table below."


def _winners(goal: str, found: Sequence[Answer[int]]) -> str:
    """Return who reaches a goal most often: `lowest latency: openvino for 12 of 15 (10 sure), tvm 3 (1)`."""
    (most, times, sure), *others = winners(found)
    first = f"{goal}: {most} for {times:,} of {len(found):,} ({sure:,} sure)"
    return listed([first, *(f"{name} {count:,} ({of_these:,})" for name, count, of_these in others)], MOST_NAMED)


def _close(found: Answered) -> str:
    answer, of = found
    return f"{of['network']} on {_place(of)}, {answer.goal}: {answer.best.compiler} or {_rivals(answer)}"


def _failed(study: Study) -> Iterator[str]:
    """Yield how many cases of each compiler failed, cannot be deployed or were skipped, with the commonest reason."""
    wanted = study.cases.select(PLACE.alias("place"), "compiler", "outcome", "reason", "undeployable")
    asked_for = wanted.filter(~LEFT_OUT)
    kinds = {
        "failed": (pl.col("outcome") == "failed", pl.col("reason")),
        CANNOT: (pl.col("undeployable") != "", text("undeployable").str.strip_prefix(f"it {CANNOT}: ")),
        "skipped": (pl.col("outcome") == "skipped", text("reason").str.strip_prefix("was skipped: ")),
    }
    groups = asked_for.group_by("place", "compiler", maintain_order=True)
    for kind, (is_one, reason) in kinds.items():
        counts = groups.agg(times=is_one.sum(), cases=pl.len(), why=reason.filter(is_one).mode().sort().first())
        shown = counts.filter(pl.col("times") > 0).sort("times", descending=True, maintain_order=True)
        for row in shown.iter_rows(named=True):
            times = f"{row['times']:,} of {counted(row['cases'], 'case')} {kind}"
            yield f"{row['compiler']} on {row['place']}: {times}, mostly {row['why']}"


def _place(row: Row) -> str:
    """Return the device, with the precision unless that is fp32: answers are not about one objective."""
    return str(row["device"]) + ("" if row["precision"] == FP32 else f", {row['precision']}")
