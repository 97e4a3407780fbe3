"""Since which commit cases are slower: the only one there is, the command that finds it, or why neither is known."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from pytest_ngraph.report.markdown import code, escaped, fenced
from pytest_ngraph.report.result import RunResult
from pytest_ngraph.wording import counted

CLASHING = (
    "--ngraph-against", "--ngraph-against-python", "--ngraph-calibrate", "--ngraph-compare", "--ngraph-level",
    "--ngraph-margin", "--ngraph-launches", "--ngraph-resume", "--ngraph-save", "--ngraph-scheduler",
    "--ngraph-two-sided",
)  # fmt: skip
"""Options of pytest that a bisection sets itself, or cannot do with."""
NEEDLESS = (
    "--ngraph-advise", "--ngraph-broken-base", "--ngraph-dry-run", "--ngraph-explain", "--ngraph-fail-on",
    "--ngraph-foreign-baseline", "--ngraph-history", "--ngraph-history-url", "--ngraph-inconclusive",
    "--ngraph-insecure-cluster", "--ngraph-max-seconds", "--ngraph-report", "--ngraph-retries",
    "--ngraph-retry-failed", "--ngraph-send", "--ngraph-serving", "--ngraph-store", "--ngraph-summary",
    "--ngraph-tails", "--ngraph-tls-ca", "--ngraph-tls-cert", "--ngraph-tls-key", "--ngraph-wait-for-devices",
)  # fmt: skip
"""Further options without a part in a bisection: what belongs to those above, what a run writes and where, which
verdicts fail its tests, and what it measures besides."""
OF_BISECT = {"--ngraph-level": "--level", "--ngraph-margin": "--margin"}
"""Options of pytest that `pytest-ngraph bisect` has as well, with their names there."""
AGAINST = "--ngraph-against"


def since(result: RunResult, slower: Sequence[str]) -> list[str]:
    """Return since which commit these cases are slower, as Markdown. Nothing where no commit is known.

    Where the base has commits that the head lacks, one of those may have made cases faster, so that no commit of the
    head is named.
    """
    if not slower or not (result.commits or result.lacking):
        return []
    if result.lacking:
        return [*_apart(result), ""]
    if len(result.commits) == 1 and not result.merges:
        return [f"Since {escaped(result.commits[0])}, the only commit that the base does not have.", ""]
    if len(result.commits) == 1:
        which = f"{escaped(result.commits[0])}, or since {counted(result.merges, 'merge')}"
    else:
        which = f"one of {len(result.commits)} commits"
    return [f"Since {which}. This finds which:", "", *fenced(_command(result, slower))]


def _apart(result: RunResult) -> Iterator[str]:
    given = next((each for each in shlex.split(result.command) if each.startswith(f"{AGAINST}=")), f"{AGAINST}=NAME")
    yield (
        f"Since which commit is not known: the base has {counted(result.lacking, 'commit')} that this branch lacks; "
        f"they may have made the case faster. Compare with where the branch left the base, {code(f'{given}...')}, or "
        "rebase."
    )


def _command(result: RunResult, slower: Sequence[str]) -> str:
    """Return the command that finds the commit."""
    chosen = [word for case in slower for word in ("--case", case)]
    given = [word.partition("=") for word in shlex.split(result.command)[1:]]
    own = [f"{OF_BISECT[name]}={value}" for name, _, value in given if name in OF_BISECT]
    selecting = [name + sign + value for name, sign, value in given if not _is_left_out(name)]
    return shlex.join(["pytest-ngraph", "bisect", *result.ends, *chosen, *own, "--", *selecting])


def _is_left_out(option: str) -> bool:
    return option in CLASHING or option in NEEDLESS or option.startswith("--junit")
