"""Runs of unchanged code, measured: one pytest session of a small project after another, judged against the earlier."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from gate_trials.pytest_run import output_of

from baseline_trials.tally import ALONE, RATIO, TIME, WAYS, Tally
from pytest_ngraph import store
from pytest_ngraph.case import Case
from pytest_ngraph.gate.pooling import Pooled, departure
from pytest_ngraph.gate.stored.between_runs import BETWEEN_RUNS
from pytest_ngraph.gate.stored.stored_runs import RunOf, StoredRuns, is_known, log_seconds
from pytest_ngraph.store.baselines import Baseline

COMPILERS = ("identity", "torchscript", "onnxruntime", "openvino")
SIZES = tuple((depth, width) for width in (16, 32, 64) for depth in range(1, 6))
"""Depth and width of the convolutional blocks, a group each: 15 groups under four compilers are 60 cases."""
TEST = """@pytest.mark.ngraph(workload="conv", depth={depth}, width={width}, compiler={compilers})
def test_depth_{depth}_width_{width}(measurement): ...
"""


def measure(folder: Path, runs: int, cases: int, compilers: Sequence[str], budget_s: float) -> None:
    """Measure the project until its store has this many runs. A session goes on where an earlier call stopped."""
    groups = -(-cases // len(compilers))
    with tempfile.TemporaryDirectory(prefix="ngraph-replay-") as root:
        Path(root, "pytest.ini").write_text("[pytest]\n")  # a root of its own, whatever lies above the folder
        tests = (TEST.format(depth=d, width=w, compilers=list(compilers)) for d, w in SIZES[:groups])
        Path(root, "test_replay.py").write_text("\n".join(("import pytest\n", *tests)))
        options = (f"--ngraph-store={folder.resolve()}", f"--ngraph-budget={budget_s}", "--benchmark-quiet")
        while (before := len(store.run_ids(folder))) < runs:
            output_of(Path(root), "test_replay.py", *options, environment={})
            if len(store.run_ids(folder)) == before:
                sys.exit("nothing was measured. See pytest's messages above.")


def read(folder: Path) -> list[store.Run]:
    """Return the runs of a store, oldest first."""
    return [store.read(folder, run) for run in store.run_ids(folder)]


def tallies(runs: Sequence[store.Run], cases: int, kept: int) -> dict[str, Tally]:
    """Return what came of judging each run against this many runs before it, by each way."""
    measured = Baseline(name="replay", runs=tuple(runs)).measured
    found = {way: Tally() for way in WAYS}
    for last in range(kept, len(measured)):
        for selected in _selections(measured[last], cases):
            earlier = measured[last - kept : last]
            stored = StoredRuns([{case: run[case] for case in selected if case in run} for run in earlier])
            heads = {case: measured[last][case] for case in selected}
            for way, distances in _judged(heads, stored, alone=cases == 1).items():
                if distances:
                    found[way].add(distances)
    return found


def _selections(run: RunOf, cases: int) -> Iterator[list[Case]]:
    """Yield the first cases of a run; for one, each compiled case with its identity in turn."""
    usable = [case for case, record in run.items() if is_known(record)]
    if cases > 1:
        yield usable[:cases]
        return
    yield from ([case.group, case] for case in usable if case != case.group and case.group in usable)


def _judged(heads: RunOf, stored: StoredRuns, *, alone: bool) -> dict[str, list[Pooled]]:
    """Return the distances by each way, of the cases that the baseline has."""
    by_way: dict[str, list[Pooled]] = {way: [] for way in WAYS}
    for case, head in heads.items():
        usable = stored.usable(head)
        if not usable or (alone and case == case.group):
            continue
        found = stored.against(head, heads)
        effects = [log_seconds(each) for each in usable.values()]
        by_way[ALONE].append(departure(log_seconds(head), effects, BETWEEN_RUNS))
        by_way[TIME].append(found.time)
        by_way[RATIO].append(found.ratio or found.time)
    return by_way
