"""The page of what was found: how many run, and why others do not."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from markdown_output import table

from model_coverage.results import EXPORT, READ_PROGRAM, Result

NAMES = {
    "transformers": "transformers",
    "torchvision": "torchvision",
    "timm": "timm",
    "onnx": "ONNX files",
}
ByKey = Mapping[tuple[str, str, str], Result]
"""Results by model, compiler and side."""
Pair = tuple[bool, bool | None]
"""Whether a model runs here, and in a bare script; None where that was not tried."""
NOT_ALL = ""
"""The cell of a compiler whose models were not all tried in a bare script."""
MOST_MODELS = 6
"""Models that a reason names."""


def page(results: Sequence[Result], listed: Mapping[str, int]) -> str:
    """Return the tables.

    Args:
        results: everything that was found.
        listed: the number of models of each family.
    """
    parts = []
    for family, count in listed.items():
        own = [result for result in results if result.family == family]
        if own:
            parts.append(_family(family, own, count))
    return "\n\n".join(parts)


def _family(family: str, results: Sequence[Result], listed: int) -> str:
    by_key: ByKey = {(result.model, result.compiler, result.side): result for result in results}
    models = list(dict.fromkeys(result.model for result in results))
    compilers = list(dict.fromkeys(result.compiler for result in results if result.side == "ours"))
    rows = [_row(compiler, [_pair(model, compiler, by_key) for model in models]) for compiler in compilers]
    if family != "onnx":
        rows.append(_row(EXPORT, [_exported(model, by_key) for model in models]))
    everywhere = sum(all((model, compiler, "ours") in by_key for compiler in compilers) for model in models)
    tried = f"{len(models)} of {max(listed, len(models))} models were tried"  # here, packages may be missing
    if everywhere < len(models):
        tried += f", {everywhere} of them under every compiler"
    heading = [NAMES[family], "models", "run here", "of the others, run in a bare script", "all run in a bare script"]
    if any(row[-1] == NOT_ALL for row in rows):
        heading, rows = heading[:-1], [row[:-1] for row in rows]
    lines = [
        f"### {NAMES[family]}",
        "",
        f"{tried}.",
        "",
        table(heading, rows),
    ]
    ours = [by_key[m, c, "ours"] for m in models for c in compilers if (m, c, "ours") in by_key]
    stopped = [each for each in ours if each.outcome == "stopped"]
    missing = [each for each in ours if each.outcome in ("fails", "skipped")]
    defects = [each for each in missing if _pair(each.model, each.compiler, by_key)[1]]
    neither = [each for each in missing if _pair(each.model, each.compiler, by_key)[1] is False]
    refused = [replace(found, compiler=EXPORT) for model in models if (found := _refused(model, by_key))]
    refused = [each for each in refused if _exported(each.model, by_key) == (False, True)]
    lines += _reasons("Runs in a bare script and not here", [*defects, *refused])
    lines += _reasons("Stopped here at a limit of time or memory", stopped)
    lines += _reasons("Runs in neither", neither)
    return "\n".join(lines).rstrip()


def _pair(model: str, compiler: str, by_key: ByKey) -> Pair:
    ours, bare = (by_key.get((model, compiler, side)) for side in ("ours", "bare"))
    return ours is not None and ours.outcome == "agrees", bare.outcome == "agrees" if bare else None


def _exported(model: str, by_key: ByKey) -> Pair:
    """Return whether a model is exported, here and in the bare script.

    Here it is if a compiler that starts from an exported program runs it, or got as far as refusing that program.
    """
    in_bare = _pair(model, EXPORT, by_key)[1]
    runs = any(_pair(model, compiler, by_key)[0] for compiler in READ_PROGRAM)
    return runs or (bool(in_bare) and _refused(model, by_key) is None), in_bare


def _refused(model: str, by_key: ByKey) -> Result | None:
    """Return the result here that says that `torch.export` refuses a model; None where it does not."""
    found = (by_key.get((model, compiler, "ours")) for compiler in READ_PROGRAM)
    return next((each for each in found if each and each.reason.startswith("torch.export refuses")), None)


def _row(compiler: str, pairs: Iterable[Pair]) -> list[str]:
    """Return the cells of a compiler. A model that does not run here counts once it was tried in a bare script."""
    known = [(here, bare) for here, bare in pairs if here or bare is not None]
    others = [bare for here, bare in known if not here]
    in_bare = [bare for _, bare in known if bare is not None]
    every = str(sum(in_bare)) if known and len(in_bare) == len(known) else NOT_ALL
    return [compiler, str(len(known)), str(len(known) - len(others)), str(sum(map(bool, others))), every]


def _reasons(title: str, failed: Iterable[Result]) -> Iterator[str]:
    """Yield a line for each reason, with the models that it stops."""
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for result in failed:
        grouped[result.compiler, shortened(result)].append(result.model)
    if not grouped:
        return
    yield from ("", f"{title}:", "")
    for (compiler, reason), models in sorted(grouped.items(), key=lambda item: (item[0][0], -len(item[1]))):
        named = ", ".join(models[:MOST_MODELS]) + (
            f" and {len(models) - MOST_MODELS} more" * (len(models) > MOST_MODELS)
        )
        yield f"- {compiler}: {reason} ({named})"


def shortened(result: Result) -> str:
    """Return the reason without what belongs to the model alone, so that equal reasons are one line."""
    reason = re.sub(rf"\b{re.escape(result.model)}\b", "MODEL", result.reason)
    reason = re.sub(r"0x[0-9a-f]+|%\w+|\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b", "N", reason)
    reason = re.sub(r"(torch\.export refuses |cannot export )\S+:", r"\1the model:", reason)
    reason = reason.replace("|", "\\|").replace("<", "\\<").replace("`", "")
    return reason if len(reason) <= 160 else f"{reason[:157]}..."
