"""Measure what compiling ahead saves: the same cases with and without `--ngraph-precompile`, cold and warm.

    python tools/compiling_ahead.py [--lanes=2] [--write] [PYTEST OPTION ...]

Each way has a cache of its own: empty in its first session, and in its second with what the first left. Every session
is a process of its own. The cases are two small networks under every compiler, unless options select others. `--write`
puts the table into docs/many-models.md.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

import markdown_output
import small_models

from pytest_ngraph.store import Run

PAGE = markdown_output.ROOT / "docs" / "many-models.md"
TESTS = ("benchmarks/test_blocks.py::test_conv_depth",)
OPTIONS = ("--device=cpu", "--batch-size=8", "--ngraph-budget=0.1", "-k", "w64 and (d1 or d2)")


@dataclass(frozen=True, slots=True)
class Session:
    """What a session took, and what it recorded."""

    way: str
    cache: str
    wall_s: float
    run: Run

    @property
    def row(self) -> list[str]:
        records = self.run.records
        loaded = [record for record in records if record.cached_at is not None]
        begun, compiled = min(each.started_at for each in records), [each.cached_at or 0.0 for each in loaded]
        later = sum(each > begun for each in compiled) + sum(
            each.case.is_compiled and each.cached_at is None for each in records
        )
        unmeasured = sum(each.outcome != "measured" for each in records)
        return [
            f"{self.way}, cache {self.cache}",
            f"{self.wall_s:.0f} s",
            str(len(records) - unmeasured),
            str(len(loaded)),
            str(later),
        ]


def session(way: str, cache: str, options: Sequence[str]) -> Session:
    """Run one session of pytest."""
    started = time.monotonic()
    run = small_models.measure(*options, tests=TESTS)
    return Session(way, cache, time.monotonic() - started, run)


def largest_change(sessions: Sequence[Session]) -> float:
    """Return the largest change of a case's median latency between the two warm sessions, as a share."""
    first, second = ({each.case: each.latency_s for each in one.run.records if each.rounds} for one in sessions[1::2])
    return max(abs(math.log(second[case] / first[case])) for case in first.keys() & second.keys())


def main() -> None:
    """Print the sessions, and with `--write` put them into the docs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    chosen, options = parser.parse_known_args()
    sessions = []
    for way, ahead in (("each when it is measured", []), ("ahead", [f"--ngraph-precompile={chosen.lanes}"])):
        with tempfile.TemporaryDirectory(prefix="ngraph-cache-") as folder:
            every = [*(options or OPTIONS), f"--ngraph-cache={folder}", *ahead]
            sessions += [session(way, cache, every) for cache in ("cold", "warm")]
    heading = ["compiled", "wall time", "measured", "loaded from the cache", "compiled after the first case began"]
    table = markdown_output.table(heading, [each.row for each in sessions])
    change = f"Median latencies of the two warm sessions differ by at most {100 * largest_change(sessions):.0f} %."
    markdown_output.publish(
        sessions[0].run.environment, f"{table}\n\n{change}", "precompile" if chosen.write else "", PAGE
    )


if __name__ == "__main__":
    main()
