"""Options of a run as a whole: when it ends, and how it is resumed."""

from __future__ import annotations

from functools import partial

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.plugin.options.reading import ONE, Declare, is_on, named, value
from pytest_ngraph.session.options import NEWEST_UNFINISHED, ResumeOptions
from pytest_ngraph.sizes import parse_count, parse_number

DEFAULTS = ResumeOptions()


def declare(add: Declare) -> None:
    """Add the options and their ini keys."""
    add(
        "--ngraph-resume",
        "ngraph_resume",
        "Continue a run of the store: its records that still stand are not measured again. Without a name: the "
        "newest unfinished run",
        kind="string",
        nargs="?",
        const=NEWEST_UNFINISHED,
        metavar="RUN",
    )
    add(
        "--ngraph-retries",
        "ngraph_retries",
        f"How often a resumed run retries a case that was running when the run died. Default: {DEFAULTS.retries}",
        metavar="NUMBER",
        **ONE,
    )
    add(
        "--ngraph-retry-failed",
        "ngraph_retry_failed",
        "With --ngraph-resume: measure again what crashed, timed out or ran out of memory, even if the run is finished",
        kind="bool",
        action="store_true",
    )
    add(
        "--ngraph-max-seconds",
        "ngraph_max_seconds",
        "Seconds after which nothing further is measured: the rest is skipped, and --ngraph-resume continues with it",
        metavar="SECONDS",
        **ONE,
    )


def read(config: pytest.Config) -> ResumeOptions:
    """Return the options of this run. Raises `UsageError` for a value that is not allowed."""
    run = named(config, "resume")
    if config.getoption("ngraph_retry_failed") and not run:
        raise UsageError("--ngraph-retry-failed needs a run to continue: add --ngraph-resume.")
    return ResumeOptions(
        run=run,
        retries=value(config, "retries", partial(parse_count, least=0), DEFAULTS.retries),
        retry_failed=is_on(config, "retry_failed"),
        max_seconds=value(config, "max_seconds", parse_number, None),
    )
