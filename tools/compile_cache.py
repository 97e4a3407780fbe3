"""Measure what the cache of compiled artifacts saves: the same benchmarks in two pytest sessions with one new cache.

    python tools/compile_cache.py [--write] [PYTEST OPTION ...]

Each session is a process of its own, so that the second one has only the cache. Outputs count as equal when their
errors against eager PyTorch are equal to the last bit. `--compiler=inductor` and `-k resnet18` select cases; `--write`
puts the table into docs/compilers.md.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import markdown_output
import small_models

from pytest_ngraph.metrics.text import number, quantity
from pytest_ngraph.record import Record
from pytest_ngraph.store import Run

OPTIONS = ("--device=cpu", "--batch-size=1", "--ngraph-budget=0.1")


@dataclass(frozen=True, slots=True)
class Pair:
    """A case of both sessions: compiled in the first, loaded in the second."""

    compiled: Record
    loaded: Record

    @property
    def compile_s(self) -> float:
        assert self.compiled.total_compile_s is not None
        return self.compiled.total_compile_s

    @property
    def load_s(self) -> float:
        assert self.loaded.load_s is not None
        return self.loaded.load_s

    @property
    def has_equal_outputs(self) -> bool:
        return self.compiled.agreement == self.loaded.agreement


def pairs_of(first: Run, second: Run) -> list[Pair]:
    """Return the cases that the first session compiled and the second took from the cache."""
    loaded = {record.case: record for record in second.records if record.cached_at is not None}
    compiled = (record for record in first.records if record.compile_s is not None and record.cached_at is None)
    return [Pair(record, loaded[record.case]) for record in compiled if record.case in loaded]


def report(pairs: Sequence[Pair]) -> str:
    """Return a row for each case, one for each compiler's total, and the total."""
    by_compiler: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_compiler.setdefault(pair.compiled.case.compiler, []).append(pair)
    rows = [_row([f"`{pair.compiled.case.compiler}`", pair.compiled.case.model_label], [pair]) for pair in pairs]
    rows += [_row([f"`{compiler}`", "all"], own) for compiler, own in by_compiler.items()]
    rows += [_row(["all", "all"], pairs)]
    return markdown_output.table(["compiler", "model", "compiled in", "loaded in", "ratio", "outputs"], rows)


def _row(names: list[str], pairs: Sequence[Pair]) -> list[str]:
    compile_s, load_s = sum(pair.compile_s for pair in pairs), sum(pair.load_s for pair in pairs)
    outputs = "equal" if all(pair.has_equal_outputs for pair in pairs) else "differ"
    return [*names, quantity(compile_s, "s"), quantity(load_s, "s"), number(compile_s / load_s), outputs]


def find(options: Sequence[str]) -> tuple[Run, str]:
    """Run both sessions. Return the second one's run and the table."""
    with tempfile.TemporaryDirectory(prefix="ngraph-cache-") as cache:
        first, second = (small_models.measure(*OPTIONS, f"--ngraph-cache={cache}", *options) for _ in range(2))
    return second, report(pairs_of(first, second))


if __name__ == "__main__":
    small_models.main(__doc__, "compile cache", find)
