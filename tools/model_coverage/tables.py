"""The page of what was found: how many run, and why others do not."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from markdown_output import table

from model_coverage.results import Result

NAMES = {
    "transformers": "transformers",
    "torchvision": "torchvision",
    "timm": "timm",
    "onnx": "ONNX files",
}
ByKey = Mapping[tuple[str, str, str], Result]
"""Results by model, compiler and side."""
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
    compilers = list(dict.fromkeys(result.compiler for result in results))
    models = list(dict.fromkeys(result.model for result in results))
    rows = [_row(compiler, models, by_key) for compiler in compilers]
    heading = (NAMES[family], "models", "run here", "run in a bare script", "here only", "bare only")
    lines = [
        f"### {NAMES[family]}",
        "",
        f"{len(models)} of {listed} models were tried.",
        "",
        table(heading, rows),
    ]
    ours = [by_key[m, c, "ours"] for m in models for c in compilers if (m, c, "ours") in by_key]
    defects = [each for each in ours if _only_bare(each, by_key)]
    lines += _reasons("Runs in a bare script and not here", defects)
    lines += _reasons("Runs in neither", [each for each in ours if each.outcome != "agrees" and each not in defects])
    return "\n".join(lines).rstrip()


def _row(compiler: str, models: Sequence[str], by_key: ByKey) -> list[str]:
    pairs = [(by_key.get((model, compiler, "ours")), by_key.get((model, compiler, "bare"))) for model in models]
    if not any(ours for ours, _ in pairs):  # torch.export alone
        alone = [bare for _, bare in pairs if bare]
        return [compiler, str(len(alone)), "-", str(sum(bare.outcome == "agrees" for bare in alone)), "-", "-"]
    both = [(ours, bare) for ours, bare in pairs if ours and bare]
    here = [ours.outcome == "agrees" for ours, _ in both]
    there = [bare.outcome == "agrees" for _, bare in both]
    only_here = sum(ours and not bare for ours, bare in zip(here, there, strict=True))
    only_there = sum(bare and not ours for ours, bare in zip(here, there, strict=True))
    return [compiler, str(len(both)), str(sum(here)), str(sum(there)), str(only_here), str(only_there)]


def _only_bare(ours: Result, by_key: ByKey) -> bool:
    bare = by_key.get((ours.model, ours.compiler, "bare"))
    return ours.outcome != "agrees" and bare is not None and bare.outcome == "agrees"


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
