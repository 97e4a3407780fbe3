"""Options that say how a case is measured: for how long, how precisely, within which limits, from which cache."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import cast, get_args

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.requirement import parse_size
from pytest_ngraph.plugin.options.reading import (
    ONE,
    Declare,
    choice,
    is_on,
    path,
    single,
    value,
)
from pytest_ngraph.settings import Goal, Isolation, Settings
from pytest_ngraph.sizes import parse_count, parse_number, parse_seconds, parse_share
from pytest_ngraph.system.files import compiled_folder

DEFAULTS = Settings()


def declare(add: Declare) -> None:
    """Add the options and their ini keys."""
    add(
        "--ngraph-budget",
        "ngraph_budget",
        f"Seconds of measuring per case. Default: {DEFAULTS.budget_s:g}",
        metavar="SECONDS",
        **ONE,
    )
    add(
        "--ngraph-tails",
        "ngraph_tails",
        "Also time single calls of every case, for this many seconds each, to know p50, p90, p95 and p99. Without a "
        f"number: {DEFAULTS.tails_s:g}. Default: only where a threshold needs them",
        kind="string",
        nargs="?",
        const=f"{DEFAULTS.tails_s:g}",
        metavar="SECONDS",
    )
    add(
        "--ngraph-load",
        "ngraph_load",
        f"With --objective=serving: seconds of load per case. Default: {DEFAULTS.load_s:g}",
        metavar="SECONDS",
        **ONE,
    )
    add(
        "--ngraph-load-p99",
        "ngraph_load_p99",
        "With --objective=serving: time within which 99 of 100 requests must be answered, such as 50ms. Default: "
        f"{1000 * DEFAULTS.load_p99_s:g}ms",
        metavar="TIME",
        **ONE,
    )
    add(
        "--ngraph-batch-wait",
        "ngraph_batch_wait",
        "With --objective=serving: how long a request waits for others to fill the batch, such as 5ms. Default: 0, a "
        "call takes those that wait",
        metavar="TIME",
        **ONE,
    )
    add(
        "--ngraph-precision-target",
        "ngraph_precision_target",
        "Stop measuring when the median is known within this share. Default: 1%",
        metavar="SHARE",
        **ONE,
    )
    add(
        "--ngraph-goal",
        "ngraph_goal",
        "When rounds end: once the order of the compilers is sure (rank), once the fastest is sure (best), once each "
        "limit is surely kept or breached (threshold), or once each median is precise (precision). Default: precision, "
        "or rank with --ngraph-advise",
        metavar="rank|best|threshold|precision",
        **ONE,
    )
    add(
        "--ngraph-indifference",
        "ngraph_indifference",
        "With the goals rank and best: a lead of at most this share does not matter. Default: 2%",
        metavar="SHARE",
        **ONE,
    )
    add(
        "--ngraph-timeout",
        "ngraph_timeout",
        f"Seconds that a case may spend in one phase. Default: {DEFAULTS.timeout_s:g}",
        metavar="SECONDS",
        **ONE,
    )
    add(
        "--ngraph-memory",
        "ngraph_memory",
        "Resident memory of a worker and its children at which they are killed: 8GiB. Default: 80% of the machine's",
        metavar="SIZE",
        **ONE,
    )
    add(
        "--ngraph-isolation",
        "ngraph_isolation",
        "One worker process per compiler (default), or a fresh one per case",
        metavar="compiler|case",
        **ONE,
    )
    add(
        "--ngraph-cache",
        "ngraph_cache",
        "Folder of compiled artifacts, or off. Default: the user's cache folder",
        metavar="DIR|off",
        **ONE,
    )
    add(
        "--ngraph-cache-size",
        "ngraph_cache_size",
        "Size that the folder of compiled artifacts is kept below. Default: 10GiB",
        metavar="SIZE",
        **ONE,
    )
    add(
        "--ngraph-precompile",
        "ngraph_precompile",
        "Compile all cases before the first is measured, this many at a time, into the folder of compiled artifacts. "
        "The seconds to compile are then not known. Default: each group is compiled when it is measured",
        metavar="NUMBER",
        **ONE,
    )
    add(
        "--ngraph-serving",
        "ngraph_serving",
        "Measure what serving each case costs as well: cold start, memory and files of a fresh process that only "
        "serves. A threshold on one of these switches it on",
        kind="bool",
        action="store_true",
    )

    add(
        "--ngraph-advise",
        "ngraph_advise",
        "Say at the end what to deploy of each workload: the fastest of what the run measured that breaches no "
        "threshold, how sure that is, and the command that deploys it",
        kind="bool",
        action="store_true",
    )


def advises(config: pytest.Config) -> bool:
    """Whether the run ends with what to deploy."""
    return is_on(config, "advise")


def precompile(config: pytest.Config) -> int:
    """Return how many processes compile ahead; 0 for none. Raises `UsageError` for a value that is not allowed."""
    lanes = value(config, "precompile", parse_count, 0)
    if lanes and single(config, "cache") == "off":
        raise UsageError(
            f"--ngraph-precompile={lanes} fills the folder of compiled artifacts, and --ngraph-cache=off has none. "
            "Leave one of them out."
        )
    return lanes


def serving(config: pytest.Config) -> bool:
    """Whether the costs of serving each case are measured."""
    return is_on(config, "serving")


def read(config: pytest.Config) -> Settings:
    """Return the settings of this run. Raises `UsageError` for a value that is not allowed."""
    return Settings(
        budget_s=value(config, "budget", parse_number, DEFAULTS.budget_s),
        tails_s=_tails_s(config),
        load_s=value(config, "load", parse_number, DEFAULTS.load_s),
        load_p99_s=value(config, "load_p99", parse_seconds, DEFAULTS.load_p99_s),
        batch_wait_s=value(config, "batch_wait", partial(parse_seconds, or_zero=True), DEFAULTS.batch_wait_s),
        precision_target=value(config, "precision_target", parse_share, DEFAULTS.precision_target),
        goal=cast("Goal", choice(config, "goal", get_args(Goal), DEFAULTS.goal)),
        indifference=value(config, "indifference", parse_share, DEFAULTS.indifference),
        timeout_s=value(config, "timeout", parse_number, DEFAULTS.timeout_s),
        memory_bytes=value(config, "memory", _size, None),
        cache=_cache(config),
        cache_bytes=value(config, "cache_size", _size, DEFAULTS.cache_bytes),
        isolation=cast("Isolation", choice(config, "isolation", get_args(Isolation), DEFAULTS.isolation)),
        smoke=bool(config.getoption("benchmark_disable", False) and not config.getoption("benchmark_enable", False)),
    )


def _tails_s(config: pytest.Config) -> float:
    try:
        return value(config, "tails", parse_number, DEFAULTS.tails_s)
    except UsageError as error:
        own = "--ngraph-tails takes the next word for its seconds: write --ngraph-tails=1 before other arguments."
        raise UsageError(f"{error} {own}") from None


def _size(text: str) -> int:
    """Return the bytes of `8GiB` or `1.5GB`, above 0."""
    if size := parse_size(text):
        return size
    raise UsageError(f"{text!r} is not a size above 0. Write it as 8GiB, 512MiB or 1.5GB.")


def _cache(config: pytest.Config) -> Path | None:
    if single(config, "cache") == "off":
        return None
    if given := path(config, "cache"):
        return given
    try:
        return compiled_folder()
    except UsageError:  # a user without a home folder: nothing is cached
        return None
