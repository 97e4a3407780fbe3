"""Which point is named: histories made at random, and an oracle in place of the gate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from histories import GOOD, histories
from hypothesis import given
from hypothesis import strategies as st

from pytest_ngraph.bisect.answer import Answer, Found
from pytest_ngraph.bisect.bisection import LONGER, Bisection, Step
from pytest_ngraph.bisect.graph import Graph
from pytest_ngraph.bisect.outcome import Outcome
from pytest_ngraph.bisect.question import Question, Reply
from pytest_ngraph.stats import Estimate


@dataclass
class Oracle:
    """Knows how much each point slows each case down, and what it says instead of the truth.

    Attributes:
        slower: by case, the points that make it slower, and by which share.
        instead: by point and case, what is answered there whatever it is compared with.
        undecided_once: whether what is undecided becomes clear when it is measured longer.
    """

    graph: Graph
    slower: Mapping[str, Mapping[str, float]]
    instead: Mapping[tuple[str, str], Found] = field(default_factory=dict)
    undecided_once: bool = False
    error: float = 0.0
    asked: list[Question] = field(default_factory=list)

    def ratio(self, case: str, point: str) -> float:
        contained = self.graph.points(self.graph.ancestry.get(point, 0))
        return math.prod(1 + share for at, share in self.slower[case].items() if at in contained)

    def ask(self, question: Question) -> Reply:
        self.asked.append(question)
        answers = {case: self.answer(case, question) for case in question.cases or self.slower}
        return Reply(answers, 10.0, measured=True)

    def answer(self, case: str, question: Question) -> Answer:
        instead = self.instead.get((question.head, case)) or self.instead.get((question.base, case))
        if instead and not (self.undecided_once and instead == "undecided" and question.launches):
            return Answer(found=instead, reason="by chance")
        ratio = self.ratio(case, question.head) / self.ratio(case, question.base)
        found: Found = "worse" if ratio > 1.01 else "fine"
        return Answer(found=found, ratio=Estimate(ratio, ratio - self.error, ratio + self.error))


def chain(length: int) -> tuple[Graph, list[str]]:
    points = [f"c{number:02d}" for number in range(length)]
    return Graph.chain(GOOD, points), points


def bisect(oracle: Oracle, bad: str, steps: list[Step] | None = None) -> Outcome:
    on_step = (lambda step: None) if steps is None else steps.append
    return Bisection(oracle.graph, GOOD, bad, oracle, on_step=on_step).run()


def named(outcome: Outcome, case: str = "a") -> list[str]:
    return [culprit.point for culprit in outcome.culprits if culprit.case == case]


@pytest.mark.parametrize("guilty", range(64))
def test_of_64_commits_the_right_one_is_named_in_six_halvings(guilty: int) -> None:
    graph, points = chain(64)
    oracle = Oracle(graph, {"a": {points[guilty]: 0.03}}, error=0.001)
    outcome = bisect(oracle, points[-1])
    assert named(outcome) == [points[guilty]]
    assert outcome.is_complete
    assert not outcome.ranges
    assert outcome.culprits[0].answer.ratio == pytest.approx((1.03, 1.029, 1.031))
    assert len(oracle.asked) == 2 + 6, "the ends, six halvings, and the accusation; the rest is known from the ratios"


def test_several_cases_share_their_runs() -> None:
    graph, points = chain(64)
    oracle = Oracle(graph, {"a": {points[20]: 0.03}, "b": {points[20]: 0.04}, "c": {points[50]: 0.05}, "d": {}})
    outcome = bisect(oracle, points[-1])
    assert {case: named(outcome, case) for case in "abcd"} == {
        "a": [points[20]],
        "b": [points[20]],
        "c": [points[50]],
        "d": [],
    }
    assert outcome.regressed == ["a", "b", "c"]
    assert len(oracle.asked) < 1 + 2 * (6 + 1)
    assert [len(question.cases or ()) for question in oracle.asked if question.head == points[20]][-1] == 2


def test_each_of_several_culprits_is_named() -> None:
    graph, points = chain(40)
    oracle = Oracle(graph, {"a": {points[3]: 0.03, points[17]: 0.02, points[39]: 0.05}}, error=0.002)
    assert named(bisect(oracle, points[-1])) == [points[3], points[17], points[39]]


def test_what_is_slower_by_many_small_steps_is_a_range() -> None:
    graph, points = chain(16)
    outcome = bisect(Oracle(graph, {"a": dict.fromkeys(points[:4], 0.004)}), points[-1])
    assert not outcome.culprits
    assert not outcome.is_complete
    (found,) = outcome.ranges
    assert (found.base, found.tip, list(found.points)) == (GOOD, points[2], points[:3])
    assert found.reason == "no single one of them reaches the margin"


def test_what_is_undecided_is_measured_longer() -> None:
    graph, points = chain(8)
    instead: dict[tuple[str, str], Found] = {(points[3], "a"): "undecided"}
    oracle = Oracle(graph, {"a": {points[5]: 0.03}}, instead, undecided_once=True)
    assert named(bisect(oracle, points[-1])) == [points[5]]
    assert [question.launches for question in oracle.asked if question.head == points[3]] == [None, LONGER]


def test_points_that_stay_unanswered_leave_a_range() -> None:
    graph, points = chain(8)
    instead: dict[tuple[str, str], Found] = {(points[4], "a"): "untestable", (points[5], "a"): "undecided"}
    outcome = bisect(Oracle(graph, {"a": {points[5]: 0.03}}, instead), points[-1])
    assert not outcome.culprits
    (found,) = outcome.ranges
    assert list(found.points) == points[4:7]
    assert found.reason == "1 cannot be built or run, 1 stayed undecided"
    assert found.reasons == {"untestable": "by chance", "undecided": "by chance"}
    assert outcome.to_dict()["ranges"][0]["reasons"] == found.reasons


def test_nothing_worse_is_no_search() -> None:
    graph, points = chain(8)
    oracle = Oracle(graph, {"a": {}})
    outcome = bisect(oracle, points[-1])
    assert not outcome.regressed
    assert not outcome.is_complete
    assert len(oracle.asked) == 1


def test_improvements_are_found_from_their_answers() -> None:
    graph, points = chain(32)

    class Faster(Oracle):
        def answer(self, case: str, question: Question) -> Answer:
            ratio = self.ratio(case, question.base) / self.ratio(case, question.head)
            return Answer(found="worse" if ratio < 1 / 1.01 else "fine", ratio=Estimate(ratio, ratio, ratio))

    oracle = Faster(graph, {"a": {points[7]: 0.1, points[20]: 0.05}})
    outcome = Bisection(graph, GOOD, points[-1], oracle, improved=True).run()
    assert named(outcome) == [points[7], points[20]]
    assert len(oracle.asked) < 20


def test_the_level_of_all_accusations_together_is_the_level() -> None:
    graph, points = chain(40)
    slower = {name: {points[3 * number]: 0.05} for number, name in enumerate("abcdefgh")}
    oracle = Oracle(graph, slower)
    bisect(oracle, points[-1])
    accusing = [question.level for question in oracle.asked if question.purpose == "accuse"]
    assert len(accusing) == 8
    assert sum(accusing) < 0.01
    assert all(question.level <= 0.01 / 7 for question in oracle.asked if question.purpose == "search")


def test_steps_and_time_that_are_left_are_announced() -> None:
    graph, points = chain(64)
    steps: list[Step] = []
    bisect(Oracle(graph, {"a": {points[20]: 0.03}}), points[-1], steps)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert [step.left for step in steps] == [8, 7, 6, 5, 4, 3, 2, 1]
    assert [step.points for step in steps][:3] == [64, 64, 32]
    assert [step.seconds_left for step in steps] == [None, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0, 10.0]


def first_parent_ratio(oracle: Oracle, case: str, point: str) -> float:
    parent = oracle.graph.first_parent(point)
    return oracle.ratio(case, point) / (oracle.ratio(case, parent) if parent else 1.0)


@given(histories(), st.data())
def test_the_right_commit_is_named_whatever_merges_there_are(
    history: tuple[Graph, list[str], str], data: st.DataObject
) -> None:
    graph, points, bad = history
    guilty = data.draw(st.sampled_from(points))
    oracle = Oracle(graph, {"a": {guilty: 0.05}})
    outcome = bisect(oracle, bad)
    assert named(outcome) == [guilty]
    assert outcome.is_complete
    assert len(oracle.asked) <= 2 + 2 * len(points)


@given(histories(), st.data())
def test_no_innocent_is_named_whatever_cannot_be_answered(
    history: tuple[Graph, list[str], str], data: st.DataObject
) -> None:
    """What is slower by several points, decreases in between, and cannot be answered at random, is never guessed."""
    graph, points, bad = history
    cases = ["a", "b"]
    shares = st.sampled_from([-0.04, -0.01, 0.004, 0.02, 0.05])
    slower = {case: data.draw(st.dictionaries(st.sampled_from(points), shares, max_size=4)) for case in cases}
    silent: st.SearchStrategy[Found] = st.sampled_from(["undecided", "untestable"])
    at = st.tuples(st.sampled_from(points), st.sampled_from(cases))
    instead: dict[tuple[str, str], Found] = data.draw(st.dictionaries(at, silent, max_size=8))
    oracle = Oracle(graph, slower, instead, undecided_once=data.draw(st.booleans()))
    outcome = bisect(oracle, bad)
    for culprit in outcome.culprits:
        assert first_parent_ratio(oracle, culprit.case, culprit.point) > 1.01
    for found in outcome.ranges:
        assert oracle.ratio(found.case, found.tip) > 1.01 * oracle.ratio(found.case, found.base)
        assert set(found.points) <= set(graph.points(graph.between(found.base, found.tip)))
        assert found.reason
    answered = {each.case for each in outcome.culprits} | {each.case for each in outcome.ranges}
    assert answered == set(outcome.regressed)
    assert len(oracle.asked) <= 20 * len(points) + 20


def forked_before_good(side: int, main: int) -> tuple[Graph, Graph]:
    """Return a history whose good commit follows on P, where a branch forked that was merged later; and what is asked.

    That is all of it, and what the bad commit `m` contains and the good one does not.
    """
    branch = [f"s{number:02d}" for number in range(1, side + 1)]
    trunk = [f"r{number:02d}" for number in range(1, main + 1)]
    parents: dict[str, tuple[str, ...]] = {"p": (), GOOD: ("p",)}
    for start, points in (("p", branch), (GOOD, trunk)):
        parents |= {point: (before,) for before, point in zip([start, *points], points, strict=False)}
    parents["m"] = (trunk[-1], branch[-1])
    return Graph(parents), Graph({point: own for point, own in parents.items() if point not in ("p", GOOD)})


@pytest.mark.parametrize("silent", [(), ("s01",), ("s01", "s02", "s03")])
@pytest.mark.parametrize("guilty", ["r01", "r03", "m"])
def test_a_branch_that_lacks_what_made_the_good_commit_fast_is_not_accused(
    guilty: str, silent: tuple[str, ...]
) -> None:
    whole, graph = forked_before_good(side=10, main=4)
    instead: dict[tuple[str, str], Found] = {(point, "a"): "untestable" for point in silent}
    oracle = Oracle(whole, {"a": {GOOD: -0.2, guilty: 0.1}}, instead)
    outcome = Bisection(graph, GOOD, "m", oracle).run()
    assert named(outcome) == [guilty]
    assert not outcome.ranges
    searched = [question.head for question in oracle.asked if question.purpose == "search"]
    assert len(searched) == len(set(searched)), "nothing is asked twice"


def test_a_branch_that_forked_before_the_good_commit_is_searched_as_any_other() -> None:
    whole, graph = forked_before_good(side=10, main=4)
    oracle = Oracle(whole, {"a": {"s06": 0.1}})
    assert named(Bisection(graph, GOOD, "m", oracle).run()) == ["s06"]


def test_points_after_one_contain_it() -> None:
    _, graph = forked_before_good(side=2, main=2)
    assert graph.points(graph.after(GOOD)) == ["r01", "r02", "m"]
    assert graph.points(graph.after("s01")) == ["s02", "m"]


def test_a_chain_and_merges_are_ordered_from_old_to_new() -> None:
    graph = Graph({"m": ("b", "s"), "b": ("a",), "s": ("a",), "a": (GOOD,)})
    assert sorted(graph.order, key=graph.order.__getitem__) == ["a", "b", "s", "m"]
    assert set(graph.points(graph.between("b", "m"))) == {"s", "m"}
    assert graph.first_parent("m") == "b"
    assert set(graph.points(graph.ancestry["m"])) == set("abms")
