"""An answer as lines of text: one sentence and one command first, then the front, then what was dropped and why."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from pytest_ngraph.advise.answer import Answer, Candidate
from pytest_ngraph.advise.beside import apart, named_beside
from pytest_ngraph.case import FP32, IDENTITY, Case
from pytest_ngraph.metrics.text import number, quantity
from pytest_ngraph.report.lines import INDENT, wrapped
from pytest_ngraph.report.table import GAP, Column, fitting, row
from pytest_ngraph.wording import counted

ABSENT = "-"
WORTH_SAYING = 0.05
"""A cost that differs by less than this share of the pick's is not mentioned in the sentence."""


def lines(answer: Answer, width: int, options: str = "") -> Iterator[str]:
    """Yield an answer, line by line: in so many columns, but for the command, which is to be copied.

    Args:
        options: options that the command needs, such as the store.
    """
    yield from _wrapped(sentence(answer), width, indent="")
    if answer.pick is not None:
        yield f"  {command(answer)}{options}"
    complete = [each for each in answer.candidates if each.is_on_front]
    if complete:
        yield ""
        yield "Pareto front of what was measured to the end"
        yield from _table(complete, answer, width)
    others = [each for each in answer.candidates if not each.is_on_front]
    untimed = answer.untimed
    is_said = not answer.candidates and len({*answer.dropped.values()}) == 1
    if not is_said and (others or len(answer.dropped) > len(untimed)):
        yield ""
        yield f"Also tried, of {counted(len(answer.candidates) + len(answer.dropped), 'candidate')}"
        for each in others:
            yield from _wrapped(
                f"{_label(each.case)}: {quantity(each.s_per_sample, 's')} a sample; {_why(each, answer)}", width
            )
        for case, reason in answer.dropped.items():
            if case not in untimed:
                yield from _wrapped(f"{_label(case)}: {reason}", width)
    if untimed:
        yield ""
        yield "Not tried, because the budget was over"
        for case in untimed:
            yield from _wrapped(_label(case), width)


def _wrapped(text: str, width: int, indent: str = INDENT) -> Iterator[str]:
    return (line.text for line in wrapped(text, width, indent=indent))


def sentence(answer: Answer) -> str:
    """Return the answer in one sentence: `Deploy openvino at batch 4: 41 % [38, 44] less time than eager, ...`."""
    pick = answer.pick
    if pick is None:
        if not answer.candidates:
            reasons = set(answer.dropped.values())
            why = f"; each {reasons.pop().rstrip('.')}." if len(reasons) == 1 else "."
            return f"Nothing to deploy: no candidate could be measured{why}"
        if answer.unshown:
            best = answer.unshown[0]
            return f"Nothing is known to keep the limits. The fastest, {_label(best.case)}: {', '.join(best.unknown)}."
        if answer.unheld:
            return _undecided(answer.unheld)
        best = answer.candidates[0]
        why = ", ".join(best.breaches or best.unknown)
        return f"Nothing that was tried keeps the limits. The fastest, {_label(best.case)}: {why}."
    parts = [f"Deploy {_label(pick.case)}: {_gain(pick, answer)}"]
    if pick.p99 is not None:
        parts.append(f"p99 {quantity(pick.p99.value, 's')}")
    memory = pick.cost("serving_memory_bytes")
    if memory is not None:
        parts.append(quantity(memory, "B"))
    if pick.record.score is not None:
        parts.append(f"score {number(pick.record.score)}")
    parts.append("sure" if answer.is_sure else "not sure")
    aside = [*_beside(answer), *_barred(answer), *pick.unsure, *_untimed(answer)]
    return ", ".join(parts) + (f"; {'; '.join(aside)}" if aside else "") + "."


def _undecided(unheld: Sequence[Candidate]) -> str:
    """Return the sentence for an answer without a pick, where these may keep the limits."""
    asked = dict.fromkeys(text.partition(" not measured")[0] for each in unheld for text in each.unknown)
    return (
        f"Nothing is known to keep the limits: of {counted(len(unheld), 'candidate')} that may keep them, the budget "
        f"had no time to measure {' and '.join(asked)}. Give a larger --budget."
    )


def command(answer: Answer) -> str:
    """Return the command that writes the folder that serves the pick."""
    assert answer.pick is not None
    return f"pytest-ngraph deploy {answer.run} --case {shlex.quote(answer.pick.case.id)} -o service"


def _gain(pick: Candidate, answer: Answer) -> str:
    """Return by how much less time a sample takes than under eager PyTorch, with its interval in percent."""
    if pick.case.compiler == IDENTITY:
        return f"eager PyTorch is the fastest that {_of_which(pick, answer)}"
    if pick.speedup is None:
        return f"{quantity(pick.s_per_sample, 's')} a sample"
    value, low, high = (100 * (1 - 1 / each) if each > 0 else -float("inf") for each in pick.speedup)
    if value < 0:
        return f"{-value:.0f} % [{-high:.0f}, {-low:.0f}] more time than {_eager(pick, answer)}"
    return f"{value:.0f} % [{low:.0f}, {high:.0f}] less time than {_eager(pick, answer)}"


def _of_which(pick: Candidate, answer: Answer) -> str:
    """Return, in words, of which candidates the pick is the fastest: faster ones breach a limit, or may breach one.

    Options of its own compiler that gain hardly anything may be faster, too.
    """
    before = [each for each in answer.candidates if each.s_per_sample < pick.s_per_sample]
    close = {each.case for each in answer.close}
    faster = [each for each in before if not (each.keeps and each.case in close)]
    if not faster:
        return "was tried"
    return "keeps the limits" if all(each.breaches for each in faster) else "is known to keep the limits"


def _eager(pick: Candidate, answer: Answer) -> str:
    """Return what the gain is over: eager PyTorch in the pick's precision, with as many threads."""
    several = len({each.case.device for each in answer.candidates}) > 1
    precision = f" in {pick.case.precision}" if pick.case.precision != FP32 else ""
    return f"eager{precision}{f' on {pick.case.device}' if several else ''}"


def _beside(answer: Answer) -> Iterator[str]:
    """Yield what is close to the pick, and what it does better."""
    pick = answer.pick
    assert pick is not None
    if answer.close:
        other = answer.close[0]
        yield f"{named_beside(other.case, pick.case)} is {apart(other, pick)}{_better(other, pick)}"
        if len(answer.close) > 1:
            yield f"{counted(len(answer.close) - 1, 'other')} may be as fast"


def _barred(answer: Answer) -> Iterator[str]:
    """Yield what would be faster than the pick, and the limits that it breaches."""
    pick, other = answer.pick, answer.barred
    if pick and other:
        share = 1 - other.s_per_sample / pick.s_per_sample
        name, why = named_beside(other.case, pick.case), ", ".join(other.breaches)
        yield f"{name} takes {100 * share:.0f} % less time, but breaches a limit: {why}"


def _untimed(answer: Answer) -> Iterator[str]:
    """Yield of how many candidates nothing is known, because the budget was over."""
    if untimed := len(answer.untimed):
        every = len(answer.candidates) + len(answer.dropped)
        yield f"the budget had no time for {untimed} of {counted(every, 'candidate')}"


def _better(other: Candidate, pick: Candidate) -> str:
    """Return what another candidate costs less than the pick: ` and starts 0.2 s sooner`."""
    found = []
    for metric, unit, text in (
        ("cold_start_s", "s", "starts {} sooner"),
        ("serving_memory_bytes", "B", "needs {} less"),
    ):
        own, theirs = pick.cost(metric), other.cost(metric)
        if own is not None and theirs is not None and own - theirs > WORTH_SAYING * own:
            found.append(text.format(quantity(own - theirs, unit)))  # type: ignore[arg-type]  # one of the units
    return f" and {' and '.join(found)}" if found else ""


def _why(each: Candidate, answer: Answer) -> str:
    """Return why a candidate is not the pick."""
    if answer.pick is not None and each.case == answer.pick.case:
        return "picked"
    if each.breaches:
        return ", ".join(each.breaches)
    if each.below is not None:
        return f"surely slower than {named_beside(each.below, each.case)}"
    if answer.pick is not None and each.case in [other.case for other in answer.close]:
        return f"{apart(each, answer.pick)}, not surely slower"
    return "surely slower than the pick" if answer.pick is not None else "what limits ask for was not measured"


def _table(candidates: Sequence[Candidate], answer: Answer, width: int) -> Iterator[str]:
    columns = [
        Column(heading="", cells=["*" if _is_picked(each, answer) else "" for each in candidates]),
        Column(heading="compiler", cells=[each.case.compiler for each in candidates], left=True),
        Column(heading="at", cells=[_place(each.case) for each in candidates], left=True, rank=1),
        Column(heading="a sample", cells=[quantity(each.s_per_sample, "s") for each in candidates]),
        Column(
            heading="p99", cells=[quantity(each.p99.value, "s") if each.p99 else ABSENT for each in candidates], rank=2
        ),
        Column(heading="memory", cells=[_cost(each, "serving_memory_bytes") for each in candidates], rank=3),
        Column(heading="cold start", cells=[_cost(each, "cold_start_s") for each in candidates], rank=4),
        Column(
            heading="error",
            cells=[f"{a.error:.0e}" if (a := each.record.agreement) else ABSENT for each in candidates],
            rank=5,
        ),
    ]
    if any(each.record.score is not None for each in candidates):
        scores = [ABSENT if each.record.score is None else number(each.record.score) for each in candidates]
        columns.append(Column(heading="score", cells=scores, rank=2))
    shown = fitting(columns, width - len(GAP))
    yield f"{GAP}{row(shown, None)}".rstrip()
    for place in range(len(candidates)):
        yield f"{GAP}{row(shown, place)}".rstrip()


def _is_picked(each: Candidate, answer: Answer) -> bool:
    return answer.pick is not None and each.case == answer.pick.case


def _cost(each: Candidate, metric: str) -> str:
    found = each.cost(metric)
    return ABSENT if found is None else quantity(found, "B" if metric.endswith("bytes") else "s")


def _label(case: Case) -> str:
    return f"`{case.compiler}` at {_place(case)}"


def _place(case: Case) -> str:
    """Return everything that was chosen but the compiler: `batch 4, bf16, cpu@1`; the usual is left out."""
    _, at, threads = case.device.rpartition("@")
    parts = [f"batch {case.batch_size}", *case.variant, *([counted(int(threads), "thread")] if at else [])]
    return ", ".join(parts)
