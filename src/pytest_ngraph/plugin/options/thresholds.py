"""The option of thresholds: which metrics fail the run, or the test of their case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_ngraph import compilers
from pytest_ngraph.errors import UsageError
from pytest_ngraph.plugin.options.reading import Declare

if TYPE_CHECKING:
    from pytest_ngraph.gate import Threshold

OF_PATTERNS = "*?[:"
"""Characters of patterns, of options, and of compilers of one's own, which no list has."""


def declare(add: Declare) -> None:
    """Add the option and its ini key."""
    add(
        "--ngraph-fail-on",
        "ngraph_fail_on",
        "Fail when a metric breaches this: 'bsr<0.9', 'ase[b=16]<0.5', 'speedup<1.2 if compiler=openvino'; against a "
        "base also when it is worse by more than this: 'bsr:5%'; may be given several times",
        kind="linelist",
        action="append",
        metavar="THRESHOLD",
    )


def read(config: pytest.Config, *, is_compared: bool) -> dict[str, tuple[Threshold, ...]]:
    """Return the thresholds that every case is held to, as fields of `Options`, and those that are left out.

    The ini file is read by every run, so what it compares with a base is left out of a run that has none. On the
    command line that is a mistake.

    Args:
        is_compared: whether the run has a base.

    Raises:
        UsageError: a threshold cannot be read.
    """
    of_ini = parse_thresholds([str(each) for each in config.getini("ngraph_fail_on") or ()])
    of_command_line = parse_thresholds(config.getoption("ngraph_fail_on") or ())
    without_base = () if is_compared else tuple(each for each in of_ini if each.is_relative)
    held_to = tuple(each for each in of_ini if each not in without_base)
    return {"thresholds": (*held_to, *of_command_line), "without_base": without_base}


def parse_thresholds(texts: Sequence[str]) -> tuple[Threshold, ...]:
    """Return thresholds from a mark, the command line or the ini file.

    Raises `UsageError` for other text, and for a compiler that nobody has: such a threshold would never fail.
    """
    if not texts:
        return ()
    from pytest_ngraph.gate import Threshold

    found = tuple(Threshold.parse(text) for text in texts)
    known = compilers.names()
    for threshold in found:
        name = str(dict(threshold.selectors).get("compiler", ""))
        if name and name not in known and not any(each in name for each in OF_PATTERNS):
            raise UsageError(f"the threshold {threshold}: {UsageError.unknown('compiler', name, known)}")
    return found
