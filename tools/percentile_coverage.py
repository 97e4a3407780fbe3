"""Print how often the intervals of percentiles are right, how often the gate is wrong about one, and the timer's cost.

    python tools/percentile_coverage.py [--trials=400]

Simulated: a thousand single calls in each process, of several kinds. `normal` calls have log-normal times; `correlated`
are an autoregressive series of such; in `minority` every call takes three times as long with a chance of 1 or 2 %; in
`clusters` about 1 % of the calls do, two or five in a row on average. For the gate, three launches of equal code are
compared at a threshold of 10 % and a level of 1 %; then of a head whose every 50th call takes three times as long, and
of a head all of whose calls take 1.3 times as long. The last line is measured: what timing adds to a call.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from statistics import median

import numpy as np
from markdown_output import table

from pytest_ngraph.case import Case
from pytest_ngraph.clock import WallStopwatch
from pytest_ngraph.comparison import CallLaunch, Comparison
from pytest_ngraph.gate.tails import percentile_of_launches
from pytest_ngraph.metrics.percentiles import PERCENTILES, intervals
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Floats
from pytest_ngraph.worker.measure import time_calls

CALLS = 1000
LAUNCHES = 3
SPREAD = 0.05
"""Standard deviation of the logarithms of the calls' times."""
BETWEEN = 0.01
"""Standard deviation of the logarithms of how fast processes are."""
SLOW = 3.0
LEVEL, TOLERATED = 0.01, math.log(1.1)
CASE = Case(workload="simulated", compiler="identity", batch_size=1)

Kind = Callable[[np.random.Generator, tuple[int, int]], Floats]
"""Draws the logarithms of calls; shape (processes, calls)."""


def normal(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return random.normal(0, SPREAD, shape)


def correlated(random: np.random.Generator, shape: tuple[int, int], by: float = 0.5) -> Floats:
    """Each call with this correlation to the one before it."""
    logs = random.normal(0, SPREAD, shape)
    for place in range(1, shape[1]):
        logs[:, place] = by * logs[:, place - 1] + math.sqrt(1 - by**2) * logs[:, place]
    return logs


def minority(share: float) -> Kind:
    def draw(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return normal(random, shape) + math.log(SLOW) * (random.random(shape) < share)

    return draw


def clusters(length: int) -> Kind:
    """Return a kind of calls of which about 1 % are slow, so many in a row on average."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
        slow = random.random(shape) < 0.01 / length
        for place in range(1, shape[1]):
            slow[:, place] |= slow[:, place - 1] & (random.random(shape[0]) < 1 - 1 / length)
        return normal(random, shape) + math.log(SLOW) * slow

    return draw


def every_fiftieth(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    logs = normal(random, shape)
    logs[:, 49::50] += math.log(SLOW)
    return logs


def slower(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return normal(random, shape) + math.log(1.3)


EQUAL: Mapping[str, Kind] = {
    "normal": normal,
    "correlated": correlated,
    "minority of 1 %": minority(0.01),
    "minority of 2 %": minority(0.02),
    "clusters of two": clusters(2),
    "clusters of five": clusters(5),
}
CHANGED: Mapping[str, Kind] = {"every 50th call is slow": every_fiftieth, "every call is slower": slower}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=400, help="trials of each row")
    parsed = parser.parse_args()
    names = [name.removesuffix("_s") for name in PERCENTILES]
    print(table(("calls", *(f"{name} covered" for name in names)), [coverage(k, parsed.trials) for k in EQUAL]))
    called = [alarms(kind, EQUAL[kind], EQUAL[kind], parsed.trials) for kind in EQUAL]
    called += [alarms(kind, normal, head, parsed.trials) for kind, head in CHANGED.items()]
    print(table(("head", *(f"{name} regressed" for name in names)), called))
    print(f"Timing adds {1e9 * timer_s():.0f} ns to a call.")


def coverage(kind: str, trials: int) -> list[str]:
    """Return how often the interval of each percentile covers the true one, which is that of very many calls."""
    random = np.random.default_rng(0)
    truth = EQUAL[kind](random, (1000, CALLS))
    drawn = np.exp(EQUAL[kind](random, (trials, CALLS)))
    shown = []
    for share in PERCENTILES.values():
        true, found = math.exp(np.quantile(truth, share)), intervals(drawn, share)
        shown.append(f"{np.mean((found.lows <= true) & (true <= found.highs)):.1%}")
    return [kind, *shown]


def alarms(name: str, base: Kind, head: Kind, trials: int) -> list[str]:
    """Return how often each percentile of a head is called regressed."""
    random = np.random.default_rng(0)
    called = dict.fromkeys(PERCENTILES, 0)
    for _ in range(trials):
        record = compared(processes(base, random), processes(head, random))
        for metric in PERCENTILES:
            called[metric] += percentile_of_launches(record, metric).change.p_above(TOLERATED) <= LEVEL
    return [name, *(f"{count / trials:.1%}" for count in called.values())]


def processes(kind: Kind, random: np.random.Generator) -> Floats:
    return np.exp(kind(random, (LAUNCHES, CALLS)) + random.normal(0, BETWEEN, (LAUNCHES, 1)))


def compared(base: Floats, head: Floats) -> Record:
    launches = [CallLaunch(base=tuple(one), head=tuple(other)) for one, other in zip(base, head, strict=True)]
    return Record(case=CASE, outcome="measured", comparison=Comparison(calls=tuple(launches)))


def timer_s() -> float:
    """Return the median seconds of a call that does nothing."""
    return median(time_calls(lambda: None, WallStopwatch(), 100_000))


if __name__ == "__main__":
    main()
