"""Options of the gate: what a run is compared with, and when it fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.options.reading import ONE, Declare, choice, positive, single, whole

Policy = Literal["warn", "fail", "pass"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """against: the git revision that cases are compared with; empty for none. against_python: likewise, an interpreter.
    margin: slowdown that is tolerated, as a share. level: chance, over the whole run, of calling regressed what is not.
    inconclusive: what becomes of a test that could not be decided.
    threads: cores that a comparison runs on; None for all of the device's.
    """

    against: str = ""
    against_python: str = ""
    margin: float = 0.01
    level: float = 0.01
    inconclusive: Policy = "warn"
    threads: int | None = None


DEFAULTS = GateOptions()


def declare(add: Declare) -> None:
    """Add the options and their ini keys."""
    add(
        "--ngraph-against",
        "ngraph_against",
        "Compare with this git revision (main, HEAD~1, v1.2, main...), and fail what became slower",
        metavar="REVISION",
        **ONE,
    )
    add(
        "--ngraph-against-python",
        "ngraph_against_python",
        "Compare with the same code in another environment, given by its interpreter",
        metavar="PATH",
        **ONE,
    )
    add(
        "--ngraph-margin",
        "ngraph_margin",
        "Slowdown that is tolerated: regressed means slower by more than this. Default: 1%%",
        metavar="SHARE",
        **ONE,
    )
    add(
        "--ngraph-level",
        "ngraph_level",
        "Chance, over the whole run, of calling a case regressed that is not. Default: 1%%",
        metavar="SHARE",
        **ONE,
    )
    add(
        "--ngraph-inconclusive",
        "ngraph_inconclusive",
        "What becomes of a test whose comparison cannot be decided. Default: warn",
        metavar="warn|fail|pass",
        **ONE,
    )
    add(
        "--ngraph-gate-threads",
        "ngraph_gate_threads",
        "Cores that a comparison runs on; 1 is the most robust on a busy machine. Default: the device's",
        metavar="NUMBER",
        **ONE,
    )


def read(config: pytest.Config) -> GateOptions:
    """The options of this run. Raises `UsageError` for what cannot be."""
    against, against_python = single(config, "against") or "", single(config, "against_python") or ""
    if against and against_python:
        raise UsageError("--ngraph-against and --ngraph-against-python cannot both be compared with. Give one of them.")
    return GateOptions(
        against=against,
        against_python=against_python,
        margin=positive(config, "margin", DEFAULTS.margin),
        level=positive(config, "level", DEFAULTS.level),
        inconclusive=cast("Policy", choice(config, "inconclusive", get_args(Policy), DEFAULTS.inconclusive)),
        threads=whole(config, "gate_threads"),
    )
