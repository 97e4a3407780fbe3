"""`--ngraph-history` as its users see it: nights of a small repository beside an anchor, with real workers."""

from __future__ import annotations

import pytest
from repository import Repository

from pytest_ngraph.history.chain import chained
from pytest_ngraph.history.index import Index
from pytest_ngraph.history.steps import FLOOR

NETS = """
import torch

def network(width):
    return torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(4))), torch.ones(8, width)

def changed():
    return network({width})

def untouched():
    return network(64)
"""
TESTS = """
import pytest

@pytest.mark.ngraph(workload=["nets:changed", "nets:untouched"], compiler="torchscript", batch_size=8)
def test_speed(measurement): ...
"""


@pytest.mark.alone
def test_a_night_is_kept_with_its_anchor_and_fails_nothing(pytester: pytest.Pytester) -> None:
    made = Repository.create(pytester.path)
    made.write("pytest.ini", "[pytest]\npythonpath = .\nngraph_cache = cache\nngraph_budget = 0.3\n")
    made.write(".gitignore", "cache\n.ngraph\n__pycache__\nstd*\nrunpytest*\n")
    made.write("nets.py", NETS.format(width=64))
    made.write("test_it.py", TESTS)
    first = made.commit("narrow")
    missing = pytester.runpytest_subprocess("--ngraph-history")
    assert missing.ret == pytest.ExitCode.USAGE_ERROR
    missing.stderr.fnmatch_lines(["ERROR: --ngraph-history has no anchor*Name a revision*"])
    made.git("tag", "v1")
    made.write("nets.py", NETS.format(width=1024))
    second = made.commit("wide")

    result = pytester.runpytest_subprocess("--ngraph-history")
    result.assert_outcomes(passed=2)
    made.git("tag", "v2")
    made.write("nets.py", NETS.format(width=256))
    later = pytester.runpytest_subprocess("--ngraph-history", "-k", "untouched")  # beside v1, not the newer v2
    later.assert_outcomes(passed=1, deselected=1)
    assert made.worktrees() == 1

    with Index(made.root / ".ngraph") as index:
        index.update()
        (changed,) = index.rows("nets:changed-*", anchored=True)
        one, two = index.rows("nets:untouched-*", anchored=True)
    assert (changed.anchor, changed.anchor_commit) == ("v1", first)
    assert (changed.commit, changed.branch) == (second, "main")
    assert changed.ratio is not None
    assert changed.ratio.low > 0.5, "256 times the multiplications take longer, whatever else the machine does"
    assert one.ratio is not None
    assert one.ratio.log == 0
    assert (two.commit, two.anchor) == (f"{second}+", "v1")

    third = made.commit("narrower")
    made.git("tag", "v3")
    renewed = pytester.runpytest_subprocess("--ngraph-history=v3", "-k", "untouched", "--junitxml=night.xml")
    renewed.assert_outcomes(passed=1, deselected=1)
    renewed.stdout.fnmatch_lines(
        ["*a new anchor, v3 at *, is measured beside v1 once.", "v3 at * beside v1 was measured once, for 1 case: *"]
    )
    assert made.worktrees() == 1
    with Index(made.root / ".ngraph") as index:
        index.update()
        rows = list(index.rows("nets:untouched-*", anchored=True))
    assert [(each.anchor_commit, each.commit) for each in rows] == [
        (first, second),
        (first, f"{second}+"),
        (first, third),
        (third, third),
    ]
    (link,) = chained(rows).links
    assert link[2:] == (0.0, FLOOR)
