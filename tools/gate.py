"""Measure the gate's hits, misses and false alarms beside other rules: slowdowns of known size, in three conditions.

    python tools/gate.py --results=FILE [--minutes=15] [--cells=20] [--write] [...]

A test repository has two revisions of small networks. The head has other weights and 0 to 10 % of additional real
compute, whose cost is measured first, on the quiet machine. Then, session after session, the gate judges some cells;
pytest-benchmark's comparison and asv's rule judge the same cells, with as many seconds of measuring each.

Results go into a file. A later call with the same file continues until there are as many cells of each kind as asked
for. `--minutes` ends a call after the session that is running then. `--write` puts the tables of all results in the
file into docs/gate-measured.md.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import product as combinations
from pathlib import Path

import markdown_output
from gate_trials import asv_rule, benchmark_plugin, conditions, injection, product, table
from gate_trials.cells import NETWORKS, Session, plan
from gate_trials.repository import Repository
from gate_trials.results import Results

from pytest_ngraph.machine.machine import environment

PAGE = markdown_output.ROOT / "docs" / "gate-measured.md"


def calibrate(results: Results, asked: argparse.Namespace, is_late: Callable[[], bool]) -> None:
    """Find what to inject, where the file does not have it yet."""
    slowdowns = [slowdown for slowdown in asked.slowdowns if slowdown]
    for compiler, threads, network in combinations(asked.compilers, asked.threads, NETWORKS):
        missing = [s for s in slowdowns if (network, compiler, threads, s) not in results.injections]
        if missing and not is_late():
            results.add(injection.calibrate(network, compiler, threads, missing))


def run(session: Session, results: Results, rules: Sequence[str]) -> None:
    """Let these rules judge the cells of a session, while the machine is in the session's condition."""
    injections = [results.injection_of(cell) for cell in session.cells]
    rows = [each.rows if each else 0 for each in injections]
    with (
        tempfile.TemporaryDirectory(prefix="ngraph-trials-") as folder,
        conditions.held(session.condition),
    ):
        repository = Repository(Path(folder), session.cells, rows, session.threads)
        judgements = product.judge(repository, session.threads)
        results.add(judgements)
        if set(rules) == {product.NAME}:
            return
        seconds = {each.cell: each.measured_s for each in judgements if each.measured_s}
        rounds = {each.cell: each.iterations for each in judgements if each.measured_s}
        results.add(benchmark_plugin.judge(repository, session.threads, rounds))
        results.add(asv_rule.judge(repository, session.threads, seconds))


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True, metavar="FILE")
    parser.add_argument("--cells", type=int, default=20, help="cells per condition, threads, compiler and slowdown")
    parser.add_argument("--conditions", type=_listed(str), default=list(conditions.CONDITIONS))
    parser.add_argument("--slowdowns", type=_listed(float), default=[0.0, 1.0, 2.0, 3.0, 5.0, 10.0], help="in percent")
    parser.add_argument("--threads", type=_listed(int), default=[2, 1])
    parser.add_argument("--compilers", type=_listed(str), default=["torchscript", "onnxruntime"])
    parser.add_argument("--together", type=int, default=24, help="cells per session, which share the gate's level")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no session after this time")
    parser.add_argument("--gate-only", action="store_true", help="leave out the other rules: takes half of the time")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args(arguments)
    unknown = set(asked.conditions) - set(conditions.CONDITIONS)
    if unknown:
        parser.error(f"unknown condition {', '.join(sorted(unknown))}. Known: {', '.join(conditions.CONDITIONS)}.")
    return asked


def _listed(kind: Callable[[str], object]) -> Callable[[str], list[object]]:
    def values(text: str) -> list[object]:
        return [kind(part) for part in text.split(",")]

    return values


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing is left behind, as after Ctrl-C
    asked = parse()
    end = time.monotonic() + 60.0 * asked.minutes
    results = Results(asked.results)

    def is_late() -> bool:
        return bool(time.monotonic() >= end)

    rules = (product.NAME,) if asked.gate_only else table.RULES
    calibrate(results, asked, is_late)
    sessions = plan(
        conditions=asked.conditions,
        threads=asked.threads,
        compilers=asked.compilers,
        slowdowns_percent=asked.slowdowns,
        count=asked.cells,
        done=results.judged(rules),
        most=asked.together,
    )
    for number, session in enumerate(sessions, 1):
        if is_late():
            print(f"{len(sessions) - number + 1} sessions are left. Run the same command again.", file=sys.stderr)
            break
        print(f"session {number} of {len(sessions)}: {session.condition}, {session.threads} threads", file=sys.stderr)
        run(session, results, rules)
    markdown_output.publish(environment(), table.report(results), "gate" if asked.write else "", PAGE)


if __name__ == "__main__":
    main()
