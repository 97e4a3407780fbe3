"""`--ngraph-history` as its users see it: nights of a small repository beside an anchor, with real workers.

The cases take exactly as long as files say. The first night is a process of its own, which starts its workers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import plain
import pytest
import weighed
from repository import Repository

from pytest_ngraph.history.chain import chained
from pytest_ngraph.history.index import Index
from pytest_ngraph.history.levels import FLOOR
from pytest_ngraph.plugin.assembly import SESSION
from pytest_ngraph.plugin.link_step import LinkStep


@pytest.fixture
def nights(pytester: pytest.Pytester, light_workers: None, forked_collecting: None) -> Iterator[Repository]:
    """The repository, whose runs in this process fork their workers."""
    made = weighed.repository(pytester.path)
    with plain.importable(made.root):
        yield made


def test_a_night_is_kept_with_its_anchor_and_fails_nothing(pytester: pytest.Pytester, nights: Repository) -> None:
    made = nights
    made.write("plain_a.txt", "100")
    made.write("plain_b.txt", "100")
    first = made.commit("light")
    missing = pytester.runpytest("--ngraph-history")
    assert missing.ret == pytest.ExitCode.USAGE_ERROR
    missing.stderr.fnmatch_lines(["ERROR: --ngraph-history has no anchor*Name a revision*"])
    made.git("tag", "v1")
    made.write("plain_a.txt", "300")
    second = made.commit("heavy")

    result = pytester.runpytest_subprocess("--ngraph-history")
    result.assert_outcomes(passed=2)
    made.git("tag", "v2")
    made.write("plain_a.txt", "200")
    later = pytester.runpytest("--ngraph-history", "-k", "plain_b")  # beside v1, not the newer v2
    later.assert_outcomes(passed=1, deselected=1)
    assert made.worktrees() == 1

    with Index(made.root / ".ngraph") as index:
        index.update()
        (changed,) = index.rows("plain_a-*", anchored=True)
        one, two = index.rows("plain_b-*", anchored=True)
    assert (changed.anchor, changed.anchor_commit) == ("v1", first)
    assert (changed.commit, changed.branch) == (second, "main")
    assert changed.ratio is not None
    assert changed.ratio.log == pytest.approx(math.log(3))
    assert changed.ratio.low > 0
    assert one.ratio is not None
    assert one.ratio.log == 0
    assert (two.commit, two.anchor) == (f"{second}+", "v1")

    third = made.commit("lighter")
    made.git("tag", "v3")
    renewed = pytester.runpytest("--ngraph-history=v3", "-k", "plain_b", "--junitxml=night.xml")
    renewed.assert_outcomes(passed=1, deselected=1)
    renewed.stdout.fnmatch_lines(
        [
            "*measuring the new anchor, v3 at *, beside the previous one, v1, once.",
            "v3 at * beside v1 was measured once, for 1 case: *",
        ]
    )
    assert made.worktrees() == 1
    with Index(made.root / ".ngraph") as index:
        index.update()
        rows = list(index.rows("plain_b-*", anchored=True))
    assert [(each.anchor_commit, each.commit) for each in rows] == [
        (first, second),
        (first, f"{second}+"),
        (first, third),
        (third, third),
    ]
    (link,) = chained(rows).links
    assert link[3:] == (0.0, FLOOR)


def test_only_the_cases_that_lack_a_link_are_measured_for_it(pytester: pytest.Pytester) -> None:
    weighed.repository(pytester.path)
    pytester.makepyfile(test_plain="def test_without_a_case(): ...")
    step = LinkStep({"plain_b-weighing:Weighs-b1-cpu"})
    result = pytester.runpytest_inprocess("--collect-only", "-q", plugins=[step])
    result.stdout.fnmatch_lines(["test_it.py::test_it?plain_b-*", "", "1/3 tests collected (2 deselected)*"])


def test_an_anchor_may_be_called_like_a_folder(pytester: pytest.Pytester) -> None:
    made = weighed.repository(pytester.path)
    made.commit("light")
    made.git("tag", "v1")
    for folder in ("last", "v1"):
        pytester.mkdir(folder)
    for typed, against in (("--ngraph-history", ""), ("--ngraph-history=v1", "v1")):
        assert pytester.parseconfigure("--collect-only", typed).stash[SESSION].options.gate.against == against
    for words in (["--ngraph-history", "last"], ["--ngraph-history=last"]):
        result = pytester.runpytest("--collect-only", *words)
        result.stderr.fnmatch_lines(["ERROR: --ngraph-history last: this is a path, not a revision. *"])
