"""How far sessions of the same network differ, by tool. All tools measure for the same seconds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from markdown_output import table

from comparing import arms, figures, trials
from comparing.trials import Measure, Trials
from pytest_ngraph.case import Case
from pytest_ngraph.metrics.text import with_interval

UNREACHED = "0.01%"
"""A precision target that is never met, so that the seconds decide."""


def find(parsed: argparse.Namespace) -> str:
    cases = trials.cases(parsed.models, parsed.batch_sizes[0])
    chosen = trials.chosen(tools(parsed.spread_seconds, unbound=parsed.unbound), parsed.arms)
    return report(cases, trials.run(chosen, cases, parsed.sessions))


def tools(seconds: float, *, unbound: bool) -> dict[str, Measure]:
    """Return every tool, set to measure for this number of seconds."""
    environment = {} if unbound else arms.bound()
    return {
        arms.OURS: arms.ngraph(f"--ngraph-budget={seconds}", f"--ngraph-precision-target={UNREACHED}"),
        "pytest-benchmark": arms.benchmark(f"--benchmark-max-time={seconds}", environment=environment),
        "torch.utils.benchmark": arms.timer("blocked_autorange", environment, min_run_time=seconds),
        "optimum-benchmark": arms.optimum(seconds, environment),
    }


def report(cases: Sequence[Case], found: Trials) -> str:
    """Return a row for each network, one for all, and one that compares ours with each."""
    spreads = {arm: figures.coefficient_of_variation(found.of(arm, "seconds")) for arm in found.readings}
    rows = [[case.group_label, *(_percent(own[place]) for own in spreads.values())] for place, case in enumerate(cases)]
    rows.append(["all, root mean square", *(_percent(figures.root_mean_square(own)) for own in spreads.values())])
    rows.append(["measured, s, median", *(f"{figures.median(found.of(arm, 'measured_s')):.1f}" for arm in spreads)])
    if arms.OURS in spreads:
        rows.append([f"{arms.OURS} over it", *_ratios(found)])
    return "\n\n".join([table(["coefficient of variation", *spreads], rows), *found.notes])


def _ratios(found: Trials) -> list[str]:
    ours = found.of(arms.OURS, "seconds")
    return [
        "1" if arm == arms.OURS else with_interval(figures.spread_ratio(ours, found.of(arm, "seconds")))
        for arm in found.readings
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
