"""A run of many cases, killed at random moments and resumed each time."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest
from fault_project import Project, finished, wait_until

from pytest_ngraph.record import Record

LONGEST_S = 1.0
"""Most seconds of measuring before a kill; a case takes about a third."""
ANY_MOMENT = 0.2
"""Share of the kills that come before anything is measured, while pytest starts."""


def kill_at_random(project: Project, kills: int, seed: int) -> dict[str, Record]:
    """Kill and resume a run `kills` times, and return its records.

    After each kill, check that every earlier record is there, unchanged.
    """
    generator = random.Random(seed)
    known: dict[str, Record] = {}
    for _ in range(kills):
        kill_once(project, generator)
        now = project.records
        assert {case: now.get(case) for case in known} == known, "lost or changed"
        assert set(now) <= project.expected, "invented"
        known = now
    return known


def kill_once(project: Project, generator: random.Random) -> None:
    size = project.size
    run = project.start("--ngraph-resume", "--ngraph-retries=1000", "-q")
    if generator.random() > ANY_MOMENT:
        wait_until(lambda: project.size > size or run.poll() is not None)
    time.sleep(generator.uniform(0, LONGEST_S))
    run.send_signal(signal.SIGKILL)
    finished(run)


@pytest.mark.parametrize(
    ("cases", "kills", "seed"), [(40, 2, 0), *(pytest.param(100, 25, n, marks=pytest.mark.slow) for n in range(1, 9))]
)
def test_killed_at_random(tmp_path: Path, cases: int, kills: int, seed: int) -> None:
    project = Project(tmp_path, workloads=[f"plain{n}" for n in range(10)], batch_sizes=range(1, cases // 10 + 1))
    known = kill_at_random(project, kills, seed)
    project.assert_resumes("--ngraph-retries=1000", "-q", kept=known.values())
    assert len(project.run_ids) == 1
