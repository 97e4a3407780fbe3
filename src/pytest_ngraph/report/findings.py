"""Findings of a run beyond its tables, in words: friction, growth, break-even, depth, rank inversions, thresholds."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.gate import Check
from pytest_ngraph.gate.check import Outcome
from pytest_ngraph.metrics import DEFINITIONS, Inversion, Metric, Metrics, Scope
from pytest_ngraph.metrics.between import Between
from pytest_ngraph.metrics.text import in_words, with_interval
from pytest_ngraph.report.lines import INDENT, Line, Style, wrapped
from pytest_ngraph.wording import listed

STYLES: dict[Outcome, Style] = {"breached": "bad", "undecided": "doubt", "unmatched": "doubt"}
"""The outcomes of thresholds that are listed one by one."""
MOST = 12
"""Maximum number of findings of one kind that are listed; the files of a report have the rest."""
MOST_NAMED = 3
"""Maximum number of arms that a reason names."""


def findings(metrics: Metrics, checks: Sequence[Check], width: int) -> list[Line]:
    """Return the sections that are not empty."""
    return [
        *_section("Friction as batches grow (0 scales perfectly, 1 is saturated)", _friction(metrics), width),
        *_section("Growth of the time with sizes of your own (1 is linear, 2 quadratic)", _growth(metrics), width),
        *_section("Compile time is paid back after", _break_even(metrics), width),
        *_section("Speedup over depth", _depth(metrics), width),
        *_section(f"Rank inversions ({_about_pairs(metrics.between)})", _inversions(metrics.inversions), width),
        *_section("Metrics of your own", _own(metrics), width),
        *_section("Absent", _absent(metrics), width, "note"),
        *thresholds(checks, metrics.between, width),
    ]


def _section(heading: str, texts: Iterable[str], width: int, style: Style = "plain") -> Iterator[Line]:
    texts = list(texts)
    if not texts:
        return
    yield Line(heading, "heading")
    for text in texts[:MOST]:
        yield from wrapped(text, width, style)
    if len(texts) > MOST:
        yield Line(f"{INDENT}... and {len(texts) - MOST} more", "note")


def _about_pairs(between: Between) -> str:
    """Return what the intervals of ratios of two cases include, in words."""
    return f"95 % intervals, of which ± {between.pair_percent:.1f} % between processes"


def _friction(metrics: Metrics) -> Iterator[str]:
    for metric, relief in _paired(metrics, "friction", "friction_mitigation"):
        suffix = f"; mitigates {in_words(relief)}" if relief else ""
        yield f"{metric.scope.id}: {in_words(metric)}{suffix}"


def _growth(metrics: Metrics) -> Iterator[str]:
    rates: dict[Scope, list[str]] = {}
    for metric in metrics.wider:
        if metric.name == "scaling" and metric.estimate and isinstance(metric.scope, Scope):
            over = metric.scope.over
            others = tuple(size for size in metric.scope.sizes if size[0] != over)
            rate = f"× {with_interval(metric.estimate)} at {dict(metric.scope.sizes)[over]}"
            rates.setdefault(dataclasses.replace(metric.scope, sizes=others), []).append(rate)
    for metric, relief in _paired(metrics, "growth", "growth_mitigation"):
        suffix = f"; mitigates {in_words(relief)}" if relief else ""
        own = rates.get(metric.scope, []) if isinstance(metric.scope, Scope) else []
        yield f"{metric.scope.id}: {in_words(metric)}{suffix}; samples/s {', '.join(own)}"


def _paired(metrics: Metrics, name: str, companion: str) -> Iterator[tuple[Metric, Metric | None]]:
    """Return the metrics of a name that have an estimate, each with the companion of its scope, if that has one."""
    companions = {m.scope: m for m in metrics.wider if m.name == companion and m.estimate}
    return ((m, companions.get(m.scope)) for m in metrics.wider if m.name == name and m.estimate)


def _break_even(metrics: Metrics) -> Iterator[str]:
    by_compiler: dict[tuple[str, str], list[str]] = {}
    for case, own in metrics.by_case.items():
        estimate = own["break_even"].estimate
        if estimate:
            paid = with_interval(estimate, "samples")
            arm = ", ".join((f"{case.compiler} on {case.device}", *case.variant))
            by_compiler.setdefault((case.network_label, arm), []).append(f"{paid} at b={case.batch_size}")
    for (network, arm), paid_back in by_compiler.items():
        yield f"{network}, {arm}: {', '.join(paid_back)}"


def _depth(metrics: Metrics) -> Iterator[str]:
    for metric, kept in _paired(metrics, "depth_slope", "depth_retention"):
        suffix = f"; deepest over single block {in_words(kept)}" if kept else ""
        yield f"{metric.scope.id}: {in_words(metric)} per block{suffix}"


def _inversions(inversions: Iterable[Inversion]) -> Iterator[str]:
    others = 0
    for inversion in inversions:
        if inversion.winner.compiler == IDENTITY or inversion.winner.device != inversion.device:
            yield _inversion(inversion)
        else:
            others += 1
    if others:
        yield f"{others} more between two compilers on one device, neither of them identity"


def _inversion(inversion: Inversion) -> str:
    winner, loser = inversion.winner, inversion.loser
    same_device = winner.device == inversion.device
    there = inversion.compiler if same_device else f"{inversion.compiler} on {inversion.device}"
    here = winner.compiler if same_device else f"{winner.compiler} on {winner.device}"
    place = ", ".join((f"b={winner.batch_size}", *winner.variant)) + (f" on {winner.device}" if same_device else "")
    return (
        f"{place}: {winner.network_label} beats {loser.network_label} "
        f"under {here} (× {with_interval(inversion.before)}) "
        f"but loses under {there} (× {with_interval(inversion.after)})"
    )


def _own(metrics: Metrics) -> Iterator[str]:
    names = {name for own in metrics.by_case.values() for name in own} | {m.name for m in metrics.wider}
    return (f"{m.scope.id}: {m.name} {in_words(m)}" for m in metrics.named(names - DEFINITIONS.keys()))


def _absent(metrics: Metrics) -> Iterator[str]:
    """Yield the absent metrics by reason. A failed case's own reason is in its row of the table."""
    reasons: dict[str, dict[str, dict[str, None]]] = {}
    for metric in metrics.wider:
        if metric.absent:
            reason = metric.absent.partition(": ")[0] if metric.name in DEFINITIONS else metric.absent
            reasons.setdefault(reason, {}).setdefault(metric.name, {})[metric.scope.id] = None
    for reason, missing in reasons.items():
        names = (f"{name} of {listed([*scopes], MOST_NAMED)}" for name, scopes in missing.items())
        yield f"{'; '.join(names)}: {reason}"


def thresholds(checks: Sequence[Check], between: Between, width: int) -> list[Line]:
    """Return how many thresholds came to what, and those that are not kept; nothing without any."""
    return [*_thresholds(checks, between, width)] if checks else []


def _thresholds(checks: Sequence[Check], between: Between, width: int) -> Iterator[Line]:
    counts = Counter(check.outcome for check in checks)
    yield Line(f"Thresholds: {', '.join(f'{counts[o]} {o}' for o in get_args(Outcome) if counts[o])}", "heading")
    for outcome, style in STYLES.items():
        for check in checks:
            if check.outcome == outcome:
                yield from wrapped(check.text, width, style)
    if any(check.outcome in ("breached", "undecided") for check in checks):
        yield from wrapped(f"between processes: {between.source}", width, "note")
    missing = Counter((str(c.threshold), c.metric.absent) for c in checks if c.metric and c.outcome == "absent")
    for (threshold, reason), count in missing.items():
        yield from wrapped(f"{threshold} absent{f' {count} times' if count > 1 else ''}: {reason}", width, "doubt")
