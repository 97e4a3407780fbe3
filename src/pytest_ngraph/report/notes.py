"""Notes below a block of rows: why figures are absent, what was not settled, what verification could not cover."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pytest_ngraph.artifact import CAVEAT
from pytest_ngraph.case import Case, CompilerSpec
from pytest_ngraph.costs import COSTS
from pytest_ngraph.load import Load
from pytest_ngraph.metrics import Metrics
from pytest_ngraph.metrics.load import MAX_RATE, p99_of, percentiles_over_rate
from pytest_ngraph.metrics.load import SHOWN as PERCENTILES_SHOWN
from pytest_ngraph.metrics.percentiles import seconds_for
from pytest_ngraph.metrics.text import number, quantity
from pytest_ngraph.record import HIDDEN, RANDOM, STATE, Contention, Record
from pytest_ngraph.report.columns import ABSENT, FIGURES, PERCENTILE_RANKS
from pytest_ngraph.report.table import Column
from pytest_ngraph.wording import counted, grouped, listed

MOST_NAMED = 3
"""Maximum number of parameters, or of parts of a state, that a note names."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A block as it is shown: the records of its cases, their metrics, and the headings of its columns."""

    measured: Sequence[Record]
    metrics: Metrics
    headings: Collection[str]


def notes(measured: Sequence[Record], metrics: Metrics, columns: Sequence[Column]) -> Iterator[str]:
    """Yield what a reader of a block must know of its figures, a sentence each."""
    shown = Shown(measured, metrics, {column.heading for column in columns})
    for note in NOTES:
        yield from note(shown)


def _absent(shown: Shown) -> Iterator[str]:
    """Yield why figures are absent: a note for each reason."""
    for reason, headings in grouped(_missing(shown)).items():
        yield f"{ABSENT} {', '.join(headings)}: {reason}"


def _missing(shown: Shown) -> Iterator[tuple[str, str]]:
    """Yield why something is absent, each reason with what is absent."""
    for record in shown.measured:
        for figure in FIGURES:
            metric = shown.metrics[record.case][figure.metric]
            heading = figure.heading_for(record.case)
            has_own_note = (
                (figure.metric in PERCENTILE_RANKS and record.calls)
                or (figure.metric in COSTS and record.serving)
                or (figure.metric == MAX_RATE and record.load)
            )
            if metric.absent and not metric.by_definition and heading in shown.headings and not has_own_note:
                yield metric.absent, heading
    for record in shown.measured:  # the columns of costs are left out where no case has any
        if record.serving is not None and record.serving.problem:
            yield record.serving.problem, f"costs to serve under {record.case.compiler}"
    if "error" in shown.headings and any(record.agreement is None for record in shown.measured):
        yield "outputs were not verified", "error"


def _too_few_calls(shown: Shown) -> Iterator[str]:
    """Yield a note on the percentiles that too few calls were timed for, and on what would be enough."""
    lacking = [
        (record, name)
        for record in shown.measured
        for name in PERCENTILE_RANKS
        if record.calls and shown.metrics[record.case][name].estimate is None
    ]
    if lacking:
        seconds = max(seconds_for(record.calls, name) for record, name in lacking)
        names = ", ".join(dict.fromkeys(name.removesuffix("_s") for _, name in lacking))
        compilers = ", ".join(dict.fromkeys(record.case.compiler for record, _ in lacking))
        yield f"{ABSENT} {names}: too few calls of {compilers} fit into the time; --ngraph-tails={seconds} has enough"


def _under_load(shown: Shown) -> Iterator[str]:
    """Yield what the rates of requests mean, and what each of them showed."""
    loads = [(record.case, record.load) for record in shown.measured if record.load]
    generators = dict.fromkeys(load.generator for _, load in loads)
    for limit_s in dict.fromkeys(load.limit_s for _, load in loads):
        of = f"99 in 100 are answered within {quantity(limit_s, 's')}"
        yield f"max rate: requests a second of which {of}; what sends them {'; '.join(generators)}"
    for case, load in loads:
        yield from _of_load(case, load, shown.metrics[case][MAX_RATE].absent)


def _of_load(case: Case, load: Load, absent: str) -> Iterator[str]:
    """Yield what one case showed under load. `absent` is why its highest rate is not known."""
    of = f"{case.compiler} at batch size {case.batch_size}"
    if absent:
        yield f"{ABSENT} max rate of {of}: {absent}"
    elif load.problem:
        yield f"? max rate of {of}: from only {counted(len(load.rates), 'rate')}, then the load ended: {load.problem}"
    if load.rates and all(p99_of(rate) > load.limit_s for rate in load.rates):
        yield (
            f"? max rate of {of}: none of the rates that were measured kept the limit. Some calls take longer than "
            "the median one, or something slowed them down: measure again while the machine is quiet"
        )
    rates = [
        f"{number(each['per_s'])}/s: " + ", ".join(quantity(each[name], "s") for name in PERCENTILES_SHOWN)
        for each in percentiles_over_rate(load)
    ]
    if rates:
        yield f"p50, p95, p99 of {of}: {'; '.join(rates)}"


def _unsettled(shown: Shown) -> Iterator[str]:
    """Yield a note on unstable cases; cases with the same rounds and contention, measured in turn, share one."""
    doubts = (
        (
            f"at batch size {record.case.batch_size} did not settle in {counted(len(record.rounds), 'round')}: "
            f"{_contention(record.contention)}",
            record.case.compiler,
        )
        for record in shown.measured
        if not record.stable
    )
    yield from (f"~ {', '.join(compilers)} {doubt}" for doubt, compilers in grouped(doubts).items())


def _not_warm(shown: Shown) -> Iterator[str]:
    """Yield a note on cases whose times still fell when the time for warming up was over."""
    ended = (
        (f"at batch size {record.case.batch_size}: its first rounds may be slow", record.case.compiler)
        for record in shown.measured
        if record.warmup and not record.warmup.steady
    )
    yield from (
        f"? warming up ended before the times were steady, of {', '.join(compilers)} {what}"
        for what, compilers in grouped(ended).items()
    )


def _stopped(shown: Shown) -> Iterator[str]:
    """Yield a note on cases that had fewer rounds, because the question of the run was answered."""
    reasons = (
        (
            f"at batch size {record.case.batch_size}: {record.stopped}, after {counted(len(record.rounds), 'round')}",
            record.case.compiler,
        )
        for record in shown.measured
        if record.stopped
    )
    yield from (f"fewer rounds of {', '.join(compilers)} {reason}" for reason, compilers in grouped(reasons).items())


def _stand_ins(shown: Shown) -> Iterator[str]:
    programs = dict.fromkeys(record.case.compiler for record in shown.measured if _is_stand_in(record))
    if programs:
        yield (
            f"{', '.join(programs)}: its exported program was measured, since only that can be compared with a base; "
            "the module may differ"
        )


def _caveats(shown: Shown) -> Iterator[str]:
    found = ((record.facts[CAVEAT], record.case.compiler) for record in shown.measured if CAVEAT in record.facts)
    yield from (f"{', '.join(compilers)}: {caveat}" for caveat, compilers in grouped(found).items())


def _hidden(shown: Shown) -> Iterator[str]:
    """Yield a note on parameters that may be wrong without showing in the outputs."""
    hiding = (record.facts[HIDDEN].split(", ") for record in shown.measured if HIDDEN in record.facts)
    if names := list(dict.fromkeys(chain.from_iterable(hiding))):
        yield (
            f"error: {listed(names, MOST_NAMED)} next to 0: what they scale may be wrong without "
            "showing in the outputs. Load trained weights, or call pytest_ngraph.draw_constants on the module"
        )


def _random(shown: Shown) -> Iterator[str]:
    for random in dict.fromkeys(record.facts[RANDOM] for record in shown.measured if RANDOM in record.facts):
        yield f"error: leaves out {random}, to which eager PyTorch gives other values in each call"


def _stateful(shown: Shown) -> Iterator[str]:
    """Yield a note on what a model keeps from call to call: outputs were compared for one sequence of calls only."""
    for state in dict.fromkeys(record.facts[STATE] for record in shown.measured if STATE in record.facts):
        names = listed(state.split(", "), MOST_NAMED)
        yield (
            f"error: compared only for the state that calls with the same inputs leave in {names}, on which the "
            "outputs depend. Such a model is not deployed"
        )


def _tied(shown: Shown) -> Iterator[str]:
    """Yield a note on outputs that could not be compared, because all of their scores are equal."""
    undecided = dict.fromkeys(record.agreement.undecided for record in shown.measured if record.agreement)
    for names in filter(None, undecided):
        yield (
            f"error: leaves out {names}: all scores tie, so that rounding chooses the rows. With trained weights they "
            "are compared"
        )


def _rounded(shown: Shown) -> Iterator[str]:
    """Yield a note on integers that differ in lower precision."""
    shares = [(each.case.compiler, each.agreement.differing) for each in shown.measured if each.agreement]
    differing = [(compiler, share) for compiler, share in shares if share]
    if differing:
        most = max(share for _, share in differing)
        yield (
            f"error: leaves out integers that rounding has changed, up to {100 * most:.2g} % of an output's: "
            + ", ".join(dict.fromkeys(compiler for compiler, _ in differing))
        )


def _cached(shown: Shown) -> Iterator[str]:
    """Yield a note on compilers whose seconds of compiling are those of an earlier run."""
    cached = dict.fromkeys(
        each.case.compiler for each in shown.measured if each.cached_at is not None and not each.lacks_compile_s
    )
    if cached and "compile" in shown.headings:
        yield f"compile: for {', '.join(cached)}, the seconds of the first compilation; this run used the cache"


def _without_interval(shown: Shown) -> Iterator[str]:
    if any(not _is_bounded(shown.metrics, record.case) for record in shown.measured):
        yield "? too few rounds for an interval"


NOTES: tuple[Callable[[Shown], Iterator[str]], ...] = (
    _absent,
    _too_few_calls,
    _under_load,
    _unsettled,
    _not_warm,
    _stopped,
    _stand_ins,
    _caveats,
    _hidden,
    _random,
    _stateful,
    _tied,
    _rounded,
    _cached,
    _without_interval,
)
"""In the order in which they are shown."""


def _is_stand_in(record: Record) -> bool:
    """Return whether the exported program was run although the case names the module, as beside a base."""
    asked_for = dict(CompilerSpec.parse(record.case.compiler).options)
    return record.facts.get("graph") == "program" and asked_for.get("graph") != "program"


def _is_bounded(metrics: Metrics, case: Case) -> bool:
    """Return whether the throughput of a measured case has an interval."""
    estimate = metrics[case]["throughput"].estimate
    return estimate is not None and estimate.is_bounded


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
        rounds = counted(contention.throttled_rounds, "round")
        seen.append(f"clocks held down in {rounds} by {contention.throttled_by}")
    if contention.others_on_gpu:
        seen.append(f"{counted(contention.others_on_gpu, 'other process', 'other processes')} on the GPU")
    if contention.asleep_s is not None and contention.asleep_s >= 0.5:
        seen.append(f"suspended for {contention.asleep_s:.0f} s")
    return ", ".join(seen) or "no contention seen"
