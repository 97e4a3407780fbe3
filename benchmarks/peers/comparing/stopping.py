"""How long each tool measures by its own rule, and how far its median then is from the truth."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from markdown_output import table

from comparing import arms, figures, trials
from comparing.trials import Measure, Trials
from pytest_ngraph.case import Case
from pytest_ngraph.metrics.text import number, with_interval

TARGET = 0.01
TRUTH = "truth"
REPETITIONS = 100
"""Repetitions of every experiment of the study (section V-A)."""
HEADING = (
    "model", "tool and rule", "measured, s", "at most, s", "session, s", "off by, median", "off by, most",
    "within 1 % of the truth", "within 1 % of its own median", "ours over its seconds",
)  # fmt: skip


def find(parsed: argparse.Namespace) -> str:
    cases = trials.cases(parsed.models, parsed.batch_size)
    rules = trials.chosen(tools(parsed.most_seconds, unbound=parsed.unbound), parsed.arms)
    truth = arms.loop(arms.bound(), seconds=parsed.truth_seconds, warmup_s=1.0)
    return report(cases, trials.run({**rules, TRUTH: truth}, cases, parsed.trials))


def tools(most_s: float, *, unbound: bool) -> dict[str, Measure]:
    """Return every rule. Rules that wait for a precision give up after `most_s` seconds."""
    environment = {} if unbound else arms.bound()
    precise = (f"--benchmark-precision={TARGET}", "--benchmark-confidence=0.95", f"--benchmark-max-time={most_s}")
    found = {
        f"{arms.OURS}, 1 %": arms.ngraph(f"--ngraph-precision-target={TARGET:.0%}", f"--ngraph-budget={most_s}"),
        f"the study, {REPETITIONS} repetitions": arms.loop(environment, iterations=REPETITIONS),
        "pytest-benchmark, default": arms.benchmark(environment=environment),
        "pytest-benchmark, 1 %": arms.benchmark(*precise, environment=environment),
        "adaptive_autorange, default": arms.timer("adaptive_autorange", environment),
        "adaptive_autorange, 1 %": arms.timer("adaptive_autorange", environment, threshold=TARGET, max_run_time=most_s),
    }
    if not arms.benchmark_stops_at_a_precision():
        del found["pytest-benchmark, 1 %"]
    return found


def report(cases: Sequence[Case], found: Trials) -> str:
    """Return a row for each network and rule. The truth of a network is the median of its long runs."""
    if TRUTH not in found.readings:
        return "\n\n".join(found.notes)
    rules = [name for name in found.readings if name != TRUTH]
    rows = [row(found, case, place, name) for place, case in enumerate(cases) for name in rules]
    return "\n\n".join([table(HEADING, rows), *found.notes])


def row(found: Trials, case: Case, place: int, name: str) -> list[str]:
    """Return the row of a rule on the network with this index."""
    truth = figures.median(found.of(TRUTH, "seconds")[place])
    seconds = found.of(name, "seconds")[place]
    measured_s = found.of(name, "measured_s")[place]
    off = seconds / truth - 1
    ours = next((each for each in found.readings if each.startswith(arms.OURS)), None)
    ratio = figures.paired_ratio(found.of(ours, "measured_s")[place], measured_s) if ours else None
    return [
        case.group_label,
        name,
        number(figures.median(measured_s)),
        number(float(np.max(measured_s))),
        number(figures.median(found.of(name, "wall_s")[place])),
        f"{100 * figures.median(off):+.2f} %",
        f"{100 * off[np.argmax(np.abs(off))]:+.2f} %",
        f"{figures.share_within(seconds, truth, TARGET):.0%}",
        f"{figures.share_within(seconds, figures.median(seconds), TARGET):.0%}",
        with_interval(ratio) if ratio else "",
    ]
