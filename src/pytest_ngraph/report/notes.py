"""Notes below a block of rows: why figures are absent, what was not settled, what verifying did not see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_ngraph.artifact import CAVEAT
from pytest_ngraph.case import Case, CompilerSpec
from pytest_ngraph.costs import COSTS
from pytest_ngraph.metrics import Metrics
from pytest_ngraph.metrics.load import MAX_RATE, p99_of, percentiles_over_rate
from pytest_ngraph.metrics.load import SHOWN as PERCENTILES_SHOWN
from pytest_ngraph.metrics.percentiles import seconds_for
from pytest_ngraph.metrics.text import number, quantity
from pytest_ngraph.record import HIDDEN, RANDOM, Contention, Record
from pytest_ngraph.report.columns import ABSENT, FIGURES, PERCENTILE_RANKS
from pytest_ngraph.report.table import Column
from pytest_ngraph.wording import counted, listed

MOST_NAMED = 3
"""Maximum number of parameters that a note names."""


def notes(measured: Sequence[Record], metrics: Metrics, columns: Sequence[Column]) -> Iterator[str]:
    """Yield what a reader of a block must know of its figures, a sentence each."""
    shown = {column.heading for column in columns}
    reasons: dict[str, dict[str, None]] = {}
    for record in measured:
        for figure in FIGURES:
            metric = metrics[record.case][figure.metric]
            heading = figure.heading_for(record.case)
            is_noted = (
                (figure.metric in PERCENTILE_RANKS and record.calls)
                or (figure.metric in COSTS and record.serving)
                or (figure.metric == MAX_RATE and record.load)
            )
            if metric.absent and not metric.by_definition and heading in shown and not is_noted:
                reasons.setdefault(metric.absent, {})[heading] = None
    for record in measured:  # the columns of costs are left out where no case has any
        if record.serving is not None and record.serving.problem:
            reasons.setdefault(record.serving.problem, {})[f"costs to serve under {record.case.compiler}"] = None
    if "error" in shown and any(record.agreement is None for record in measured):
        reasons.setdefault("outputs were not verified", {})["error"] = None
    for reason, headings in reasons.items():
        yield f"{ABSENT} {', '.join(headings)}: {reason}"
    yield from _too_few_calls(measured, metrics)
    yield from _under_load(measured, metrics)
    yield from _doubts(measured)
    programs = dict.fromkeys(record.case.compiler for record in measured if _is_stand_in(record))
    if programs:
        yield (
            f"{', '.join(programs)}: its exported program was measured, since only that can be compared with a base; "
            "the module may differ"
        )
    caveats: dict[str, dict[str, None]] = {}
    for record in measured:
        if CAVEAT in record.facts:
            caveats.setdefault(record.facts[CAVEAT], {})[record.case.compiler] = None
    yield from (f"{', '.join(names)}: {caveat}" for caveat, names in caveats.items())
    hiding = dict.fromkeys(record.facts[HIDDEN] for record in measured if HIDDEN in record.facts)
    if hiding:
        names = [name for names in hiding for name in names.split(", ")]
        yield (
            f"error: {listed([*dict.fromkeys(names)], MOST_NAMED)} next to 0: what they scale may be wrong without "
            "showing in the outputs. Load trained weights, or call pytest_ngraph.draw_constants on the module"
        )
    for random in dict.fromkeys(record.facts[RANDOM] for record in measured if RANDOM in record.facts):
        yield f"error: without {random}, which eager PyTorch gives other values in each call"
    undecided = dict.fromkeys(record.agreement.undecided for record in measured if record.agreement)
    for names_of in filter(None, undecided):
        yield (
            f"error: without {names_of}: all scores tie, so that rounding chooses the rows. Load trained weights, and "
            "they are compared"
        )
    rounded = [each for each in measured if each.agreement and each.agreement.differing]
    if rounded:
        share = max(each.agreement.differing for each in rounded if each.agreement)
        yield (
            f"error: without integers that rounding has changed, up to {100 * share:.2g} % of those of an output: "
            + ", ".join(dict.fromkeys(each.case.compiler for each in rounded))
        )
    cached = dict.fromkeys(
        each.case.compiler for each in measured if each.cached_at is not None and not each.lacks_compile_s
    )
    if cached and "compile" in shown:
        yield f"compile: for {', '.join(cached)}, the seconds of the first compilation; this run used the cache"
    if any(not _is_bounded(metrics, record.case) for record in measured):
        yield "? too few rounds for an interval"


def _too_few_calls(measured: Sequence[Record], metrics: Metrics) -> Iterator[str]:
    """Yield a note on the percentiles that too few calls were timed for, and on what would be enough."""
    lacking = [
        (record, name)
        for record in measured
        for name in PERCENTILE_RANKS
        if record.calls and metrics[record.case][name].estimate is None
    ]
    if lacking:
        seconds = max(seconds_for(record.calls, name) for record, name in lacking)
        names = ", ".join(dict.fromkeys(name.removesuffix("_s") for _, name in lacking))
        compilers = ", ".join(dict.fromkeys(record.case.compiler for record, _ in lacking))
        yield f"{ABSENT} {names}: too few calls of {compilers} fit into the time; --ngraph-tails={seconds} has enough"


def _under_load(measured: Sequence[Record], metrics: Metrics) -> Iterator[str]:
    """Yield what the rates of requests mean, and what each of them showed."""
    loads = [(record.case, record.load) for record in measured if record.load]
    generators = dict.fromkeys(load.generator for _, load in loads)
    for limit_s in dict.fromkeys(load.limit_s for _, load in loads):
        of = f"99 in 100 are answered within {quantity(limit_s, 's')}"
        yield f"max rate: requests a second of which {of}; what sends them {'; '.join(generators)}"
    for case, load in loads:
        of = f"{case.compiler} at batch size {case.batch_size}"
        if absent := metrics[case][MAX_RATE].absent:
            yield f"{ABSENT} max rate of {of}: {absent}"
        elif load.problem:
            yield f"? max rate of {of}: by {counted(len(load.rates), 'rate')} only, then the load ended: {load.problem}"
        if load.rates and all(p99_of(rate) > load.limit_s for rate in load.rates):
            yield (
                f"? max rate of {of}: none of the rates that were measured kept the limit. Some calls take longer than "
                "the median one, or something slowed them down: measure again while the machine is quiet"
            )
        shown = [
            f"{number(each['per_s'])}/s: " + ", ".join(quantity(each[name], "s") for name in PERCENTILES_SHOWN)
            for each in percentiles_over_rate(load)
        ]
        if shown:
            yield f"p50, p95, p99 of {of}: {'; '.join(shown)}"


def _is_stand_in(record: Record) -> bool:
    """Return whether the exported program was run although the case names the module, as beside a base."""
    asked_for = dict(CompilerSpec.parse(record.case.compiler).options)
    return record.facts.get("graph") == "program" and asked_for.get("graph") != "program"


def _is_bounded(metrics: Metrics, case: Case) -> bool:
    """Return whether the throughput of a measured case has an interval."""
    estimate = metrics[case]["throughput"].estimate
    return estimate is not None and estimate.is_bounded


def _doubts(measured: Iterable[Record]) -> Iterator[str]:
    """Yield a note on unstable cases; cases with the same rounds and contention, measured in turn, share one."""
    unsettled: dict[str, list[str]] = {}
    for record in measured:
        if not record.stable:
            rounds, seen = counted(len(record.rounds), "round"), _contention(record.contention)
            doubt = f"at batch size {record.case.batch_size} did not settle in {rounds}: {seen}"
            unsettled.setdefault(doubt, []).append(record.case.compiler)
    for doubt, names in unsettled.items():
        yield f"~ {', '.join(names)} {doubt}"
    stopped: dict[str, list[str]] = {}
    for record in measured:
        if record.stopped:
            reason = f"{record.stopped}, after {counted(len(record.rounds), 'round')}"
            stopped.setdefault(f"at batch size {record.case.batch_size}: {reason}", []).append(record.case.compiler)
    for reason, names in stopped.items():
        yield f"fewer rounds of {', '.join(names)} {reason}"


def _contention(contention: Contention) -> str:
    if contention == Contention():
        return "contention was not recorded"
    shares: Mapping[str, float | None] = {
        "CPU pressure": contention.pressure_percent,
        "steal": contention.steal_percent,
    }
    seen = [f"{name} {share:.0f} %" for name, share in shares.items() if share is not None and share >= 0.5]
    if contention.throttles:
        seen.append(f"throttled {counted(contention.throttles, 'time')}")
    if contention.throttled_rounds:
        seen.append(f"held down in {counted(contention.throttled_rounds, 'round')} by {contention.throttled_by}")
    if contention.others_on_gpu:
        seen.append(f"{counted(contention.others_on_gpu, 'other process', 'other processes')} on the GPU")
    if contention.asleep_s is not None and contention.asleep_s >= 0.5:
        seen.append(f"suspended for {contention.asleep_s:.0f} s")
    return ", ".join(seen) or "no contention seen"
