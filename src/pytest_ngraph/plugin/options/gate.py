"""Options of the gate: what a run is compared with, and when it fails."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.plugin.options.reading import ONE, Declare, choice, named, path, share, whole

Policy = Literal["warn", "fail", "pass"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """against: the git revision that cases are compared with; empty for none. against_python: likewise, an interpreter.
    calibrate: compare every case with itself, to learn this machine's noise.
    margin: slowdown that is tolerated, as a share. level: chance, over the whole run, of calling regressed what is not.
    inconclusive: what becomes of a test that could not be decided.
    threads: cores that a comparison runs on; None for those of the device's that other work leaves free.
    compare: names of the stored baselines to compare with. save: the name of the one that this run is added to.
    foreign_baseline: whether those of other machines will do.
    summary: the file for the Markdown that shows the run in a pull request; None for none.
    """

    against: str = ""
    against_python: str = ""
    calibrate: bool = False
    margin: float = 0.01
    level: float = 0.01
    inconclusive: Policy = "warn"
    threads: int | None = None
    compare: tuple[str, ...] = ()
    save: str = ""
    foreign_baseline: bool = False
    summary: Path | None = None

    @property
    def compares(self) -> bool:
        """Whether there is anything to compare with."""
        return self.calibrate or bool(self.against or self.against_python)

    @property
    def failing(self) -> Collection[str]:
        """The verdicts that fail a test."""
        return ("regressed", "inconclusive") if self.inconclusive == "fail" else ("regressed",)

    @property
    def has_base(self) -> bool:
        """Whether another revision, environment or run is compared with."""
        return bool(self.against or self.against_python or self.compare)


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
        "--ngraph-calibrate",
        "ngraph_calibrate",
        "Compare every case with itself: tells this machine's noise and false alarms, and keeps them for later runs",
        kind="bool",
        action="store_true",
    )
    add(
        "--ngraph-margin",
        "ngraph_margin",
        "Slowdown that is tolerated: regressed means slower by more than this. Default: 1%",
        metavar="SHARE",
        **ONE,
    )
    add(
        "--ngraph-level",
        "ngraph_level",
        "Chance, over the whole run, of calling a case regressed that is not. Default: 1%",
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
        "Cores that a comparison runs on; 1 is the most robust. Default: the device's that other work leaves free",
        metavar="NUMBER",
        **ONE,
    )
    add(
        "--ngraph-compare",
        "ngraph_compare",
        "Compare with stored baselines, or with the last run, and fail what became slower than runs differ by chance",
        metavar="NAME[,NAME...]|latest",
        **ONE,
    )
    add(
        "--ngraph-save",
        "ngraph_save",
        "Keep this run as a stored baseline of this name, beside the runs that it has already",
        metavar="NAME",
        **ONE,
    )
    add(
        "--ngraph-foreign-baseline",
        "ngraph_foreign_baseline",
        "Compare with stored baselines of other machines, too",
        kind="bool",
        action="store_true",
    )
    add(
        "--ngraph-summary",
        "ngraph_summary",
        "Write what the run comes to as Markdown for a pull request, and beside it as JSON",
        metavar="FILE",
        **ONE,
    )


def read(config: pytest.Config) -> GateOptions:
    """The options of this run. Raises `UsageError` for what cannot be."""
    against, against_python = named(config, "against"), named(config, "against_python")
    calibrates = bool(config.getoption("ngraph_calibrate") or config.getini("ngraph_calibrate"))
    if sum(map(bool, (against, against_python, calibrates))) > 1:
        raise UsageError(
            "--ngraph-against, --ngraph-against-python and --ngraph-calibrate each say what to compare with. Give one."
        )
    compare, save = named(config, "compare"), named(config, "save")
    if (compare or save) and (against or against_python or calibrates):
        raise UsageError(
            "--ngraph-compare and --ngraph-save are for runs on their own: what is measured in turn with a base has "
            "other times. Run twice."
        )
    return GateOptions(
        against=against,
        against_python=against_python,
        calibrate=calibrates,
        margin=share(config, "margin", DEFAULTS.margin),
        level=share(config, "level", DEFAULTS.level),
        inconclusive=cast("Policy", choice(config, "inconclusive", get_args(Policy), DEFAULTS.inconclusive)),
        threads=whole(config, "gate_threads"),
        compare=tuple(dict.fromkeys(name.strip() for name in compare.split(",") if name.strip())),
        save=save,
        foreign_baseline=bool(config.getoption("ngraph_foreign_baseline") or config.getini("ngraph_foreign_baseline")),
        summary=path(config, "summary"),
    )
