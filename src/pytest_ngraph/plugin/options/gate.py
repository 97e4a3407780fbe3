"""Options of the gate: what a run is compared with, and when it fails."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import cast, get_args

import pytest

from pytest_ngraph.against.options import GateOptions, Policy
from pytest_ngraph.errors import UsageError
from pytest_ngraph.plugin.options.reading import ONE, Declare, choice, is_on, lines, named, single, value
from pytest_ngraph.settings import Explained
from pytest_ngraph.sizes import parse_count, parse_share
from pytest_ngraph.system.git import answers

DEFAULTS = GateOptions()
FEWEST_LAUNCHES = 3
"""With fewer, no regression can be called (`gate.rule.LOOKS`)."""
LAST_ANCHOR = "\0"
"""What `--ngraph-history` without a value gives, for the anchor of the last night: no revision or path is called so."""


def declare(add: Declare) -> None:
    """Add the options and their ini keys."""
    add(
        "--ngraph-against",
        "ngraph_against",
        "Compare with this git revision (main, HEAD~1, v1.2, main...), and fail tests that became slower",
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
        "--ngraph-history",
        "ngraph_history",
        "Measure every case beside an anchor, a revision that stays the same for months, for pytest-ngraph history; "
        "fails nothing. Without a value: the anchor of the last night, or else the last tag",
        metavar="ANCHOR",
        nargs="?",
        const=LAST_ANCHOR,
        **ONE,
    )
    add(
        "--ngraph-calibrate",
        "ngraph_calibrate",
        "Compare every case with itself: measures this machine's noise and false alarms, and keeps them for later runs",
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
        "Chance that the whole run calls any case regressed that is not. Default: 1%",
        metavar="SHARE",
        **ONE,
    )
    add(
        "--ngraph-inconclusive",
        "ngraph_inconclusive",
        "What happens to a test that noise leaves undecided. Default: warn",
        metavar="warn|fail|pass",
        **ONE,
    )
    add(
        "--ngraph-broken-base",
        "ngraph_broken_base",
        "What happens where the base cannot be collected, built or run. Default: fail; with --ngraph-history: warn",
        metavar="fail|warn",
        **ONE,
    )
    add(
        "--ngraph-untracked",
        "ngraph_untracked",
        "Files that git does not track and that the base reads, too, such as weights: it gets those of the working "
        "tree. A file, a folder or a pattern, from the top of the repository; may be given several times",
        kind="linelist",
        action="append",
        metavar="PATTERN",
    )
    add(
        "--ngraph-explain",
        "ngraph_explain",
        "Which cases are profiled, to say in which module and kernel they differ from their base; all also profiles "
        "cases without a base, for the report. Default: regressed; with --ngraph-history: none; without a value: all",
        metavar="regressed|all|none",
        nargs="?",
        const="all",
        **ONE,
    )
    add(
        "--ngraph-launches",
        "ngraph_launches",
        f"Launches in fresh processes that a comparison with a base may take, from {FEWEST_LAUNCHES} up. Default: 8, "
        "or those that fit into ten seconds",
        metavar="NUMBER",
        **ONE,
    )
    add(
        "--ngraph-two-sided",
        "ngraph_two_sided",
        "Call a case unchanged only if it is surely neither slower nor faster by more than the margin; takes longer",
        kind="bool",
        action="store_true",
    )
    add(
        "--ngraph-gate-threads",
        "ngraph_gate_threads",
        "Cores that a comparison runs on; 1 is the most robust. Default: those that other work leaves free",
        metavar="NUMBER",
        **ONE,
    )
    add(
        "--ngraph-compare",
        "ngraph_compare",
        "Compare with stored baselines, or with the last run without a base, and fail tests that became slower by more "
        "than chance",
        metavar="NAME[,NAME...]|latest",
        **ONE,
    )
    add(
        "--ngraph-save",
        "ngraph_save",
        "Add this run to the stored baseline of this name",
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


def read(config: pytest.Config) -> GateOptions:
    """Return the options of this run. Raises `UsageError` for values that do not fit together."""
    against, against_python = named(config, "against"), named(config, "against_python")
    calibrates = is_on(config, "calibrate")
    anchor = named(config, "history")
    _refuse_several_bases(against=against, against_python=against_python, history=anchor, calibrate=calibrates)
    if anchor not in ("", LAST_ANCHOR) and not _is_revision(anchor, config.invocation_params.dir):
        _refuse_path(config, "--ngraph-history", anchor, "a revision", "ANCHOR")
    explain = single(config, "explain") or ""
    if explain not in get_args(Explained):
        _refuse_path(config, "--ngraph-explain", explain, "what to profile", "all")
    compare, save = named(config, "compare"), named(config, "save")
    if (compare or save) and (against or against_python or calibrates or anchor):
        raise UsageError(
            "--ngraph-compare and --ngraph-save cannot be combined with a base that is measured in the same run, which "
            "changes the times of the cases. Run pytest twice."
        )
    return GateOptions(
        against=against or (anchor if anchor != LAST_ANCHOR else ""),
        history=bool(anchor),
        against_python=against_python,
        calibrate=calibrates,
        margin=value(config, "margin", parse_share, DEFAULTS.margin),
        level=value(config, "level", parse_share, DEFAULTS.level),
        inconclusive=cast("Policy", choice(config, "inconclusive", get_args(Policy), DEFAULTS.inconclusive)),
        broken_base=cast("Policy", choice(config, "broken_base", ("fail", "warn"), "warn" if anchor else "fail")),
        explain=cast("Explained", choice(config, "explain", get_args(Explained), "none" if anchor else "regressed")),
        untracked=tuple(lines(config, "ngraph_untracked")),
        launches=value(config, "launches", partial(parse_count, least=FEWEST_LAUNCHES), None),
        two_sided=is_on(config, "two_sided"),
        threads=value(config, "gate_threads", parse_count, None),
        compare=tuple(dict.fromkeys(name.strip() for name in compare.split(",") if name.strip())),
        save=save,
        foreign_baseline=is_on(config, "foreign_baseline"),
    )


def _refuse_several_bases(**bases: object) -> None:
    """Raise `UsageError` where several options, by their names, say what to compare with."""
    given = [name for name, value in bases.items() if value]
    if len(given) > 1 and given != ["against_python", "history"]:
        flags = [f"--ngraph-{name.replace('_', '-')}" for name in given]
        raise UsageError(
            f"{', '.join(flags[:-1])} and {flags[-1]} each say what to compare with. Give one of them; only "
            "--ngraph-history may have --ngraph-against-python beside it."
        )


def _is_revision(name: str, folder: Path) -> bool:
    return bool(answers(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"))


def _refuse_path(config: pytest.Config, flag: str, value: str, wanted: str, typed: str) -> None:
    """Raise `UsageError` where an option whose value may be left out has taken a path of the command line for it."""
    if value and (config.invocation_params.dir / value.partition("::")[0]).exists():
        raise UsageError(
            f"{flag} {value}: this is a path, not {wanted}. Write {flag}={typed}, or put {flag} after the paths."
        )
