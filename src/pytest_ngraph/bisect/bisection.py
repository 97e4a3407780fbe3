"""A bisection: all cases that became worse, their searches, and what is asked next until each has its point."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

from pytest_ngraph.bisect.answer import UNANSWERED, Answer, Found, usual_reasons
from pytest_ngraph.bisect.graph import Bits, Graph, Point
from pytest_ngraph.bisect.outcome import Culprit, Outcome, Range
from pytest_ngraph.bisect.question import Gate, Purpose, Question, Reply
from pytest_ngraph.bisect.search import Search, next_point

LONGER = 21
"""Fresh launches that a case may take which was undecided after the usual number."""
ABSENT = Answer(found="untestable", reason="it has no such case")


class Step(NamedTuple):
    """The step that begins.

    Attributes:
        number: counts from 1.
        left: about how many steps are left, this one included.
        points: how many points are still in question.
        seconds_left: about how long they take; None as long as no step has measured.
    """

    number: int
    question: Question
    left: int
    points: int
    seconds_left: float | None


class Bisection:
    """Asks the gate until every case is answered.

    A point is accused only after it was compared with the one before it, in a run of its own. So these runs alone
    decide how often an innocent one is accused: the k-th of them gets the 2^k-th part of the error level, which adds up
    to the level however many there are. The other runs share the level evenly, as many as one culprit takes.

    Args:
        level: the chance that any point is accused that is innocent.
        margin: the slowdown that is tolerated.
        improved: whether points are looked for that made cases faster.
        on_step: is called with each step before it begins.
    """

    def __init__(
        self,
        graph: Graph,
        good: Point,
        bad: Point,
        gate: Gate,
        *,
        level: float = 0.01,
        margin: float = 0.01,
        improved: bool = False,
        on_step: Callable[[Step], object] = lambda step: None,
    ) -> None:
        self._graph = graph
        self._good = good
        self._bad = bad
        self._gate = gate
        self._level = level
        self._margin = margin
        self._improved = improved
        self._on_step = on_step
        self._searches: list[Search] = []
        self._answers: dict[tuple[str, Point, Point], Answer] = {}
        self._culprits: list[Culprit] = []
        self._ranges: list[Range] = []
        self._unsure: dict[str, str] = {}
        self._replies: list[Reply] = []
        self._accusations = 0

    def run(self) -> Outcome:
        """Find a point, or a range, for each case that is worse at the bad point than at the good one."""
        total = self._ask("ends", self._bad, self._good, None)
        self._searches = self._begin(self._good, (case for case, each in total.items() if each.found == "worse"))
        while self._searches:
            base = max(self._by(self._searches, lambda search: search.base).items(), key=lambda item: len(item[1]))[0]
            of_base = [search for search in self._searches if search.base == base]
            if opened := [search for search in of_base if search.open]:
                self._narrow(opened)
            else:
                after = self._conclude(of_base)
                self._searches = [*(search for search in self._searches if search.base != base), *after]
        oldest = self._graph.order
        return Outcome(
            good=self._good,
            bad=self._bad,
            total=total,
            culprits=sorted(self._culprits, key=lambda each: oldest[each.point]),
            ranges=sorted(self._ranges, key=lambda each: oldest[each.tip]),
            unsure=self._unsure,
            steps=len(self._replies),
            measured=sum(reply.measured for reply in self._replies),
            seconds=sum(reply.seconds for reply in self._replies),
        )

    def _begin(self, base: Point, cases: Iterable[str]) -> list[Search]:
        return [Search.start(case, self._graph, base, self._bad) for case in cases]

    def _narrow(self, searches: Sequence[Search]) -> None:
        """Ask about the point that helps most."""
        point = next_point(searches)
        asked = [search for search in searches if search.open & self._graph.bit(point)]
        answers = self._ask("search", point, asked[0].base, [search.case for search in asked])
        for search in asked:
            search.learn(point, answers[search.case])

    def _conclude(self, ended: Sequence[Search]) -> list[Search]:
        """Accuse, or give a range, at the end of searches from one base. Return searches for what is left to find."""
        ranges: list[Range] = []
        for tip, searches in self._by([each for each in ended if each.is_found], lambda search: search.tip).items():
            ranges += self._accuse(tip, searches)
        for search in ended:
            if not search.is_found:
                in_vain = search.in_vain
                ranges.append(self._range(search, search.candidates, _in_vain(in_vain), usual_reasons(in_vain)))
        again = [self._without_older(each) for each in ranges if self._is_older(each)]
        self._ranges += (each for each in ranges if not self._is_older(each))
        astray = {search.case for search in again}
        for tip, searches in self._by(ended, lambda search: search.tip).items():
            again += self._after(tip, [search for search in searches if search.case not in astray])
        return again

    def _is_older(self, found: Range) -> bool:
        """Return whether a range lies in a branch that forked before its base, and so lacks what made the base good."""
        after = self._graph.after(found.base)
        return bool(after & self._graph.bit(self._bad)) and not after & self._graph.bit(found.tip)

    def _without_older(self, found: Range) -> Search:
        """Return the search once more, without points that lack the base, from what was answered about the others."""
        (search,) = self._begin(found.base, [found.case])
        search.candidates &= self._graph.after(found.base)
        for (case, point, base), answer in self._answers.items():
            if (case, base) == (found.case, found.base) and search.open & self._graph.bit(point):
                search.learn(point, answer)
        return search

    def _accuse(self, point: Point, searches: Sequence[Search]) -> Iterator[Range]:
        """Compare the only candidate with the point before it, and accuse it if that shows it. Else yield a range."""
        parent = self._graph.first_parent(point) or searches[0].base
        answers = self._ask("accuse", point, parent, [search.case for search in searches])
        for search in searches:
            answer = answers[search.case]
            if answer.found == "worse":
                self._culprits.append(Culprit(case=search.case, point=point, parent=parent, answer=answer))
                continue
            reason = {
                "fine": "no single one of them reaches the margin",
                "undecided": "compared with the point before it, the first that is worse stayed undecided",
                "untestable": f"the first that is worse cannot be compared with the point before it: {answer.reason}",
            }[answer.found]
            yield self._range(search, self._graph.between(search.base, point), reason)

    def _after(self, tip: Point, searches: Sequence[Search]) -> list[Search]:
        """Return searches for the cases that became worse once more after this point."""
        if tip == self._bad:
            return []
        asked = [search.case for search in searches if self._may_have_more(search)]
        answers = self._ask("rest", self._bad, tip, asked) if asked else {}
        for case in asked:
            if answers[case].found in ("undecided", "untestable"):
                self._unsure[case] = answers[case].reason or "the comparison stayed undecided"
        return self._begin(tip, (case for case in asked if answers[case].found == "worse"))

    def _may_have_more(self, search: Search) -> bool:
        """Return whether the change from the base to the bad point may be more than the culprit's, by the margin."""
        whole = self._answers[search.case, self._bad, search.base].ratio
        of_tip = (each for each in self._culprits if (each.case, each.point) == (search.case, search.tip))
        own = next((each.answer.ratio for each in of_tip), None)
        if whole is None or own is None:
            return True
        if self._improved:
            return whole.low / own.high < 1 / (1 + self._margin)
        return whole.high / own.low > 1 + self._margin

    def _range(self, search: Search, points: Bits, reason: str, reasons: Mapping[Found, str] = {}) -> Range:
        order = self._graph.order
        return Range(
            case=search.case,
            base=search.base,
            tip=search.tip,
            points=sorted(self._graph.points(points), key=order.__getitem__),
            reason=reason,
            reasons=reasons,
            answer=self._answers[search.case, search.tip, search.base],
        )

    def _ask(self, purpose: Purpose, head: Point, base: Point, cases: Sequence[str] | None) -> dict[str, Answer]:
        """Return the answers about these cases. What is undecided is measured longer, once."""
        answers = self._reply(purpose, head, base, cases)
        undecided = [case for case, answer in answers.items() if answer.found == "undecided"]
        if undecided:
            answers |= self._reply(purpose, head, base, undecided, LONGER)
        self._answers |= {(case, head, base): answer for case, answer in answers.items()}
        return answers

    def _reply(
        self, purpose: Purpose, head: Point, base: Point, cases: Sequence[str] | None, launches: int | None = None
    ) -> dict[str, Answer]:
        asked = None if cases is None else tuple(sorted(cases))
        question = Question(
            purpose=purpose, head=head, base=base, cases=asked, level=self._share(purpose), launches=launches
        )
        self._on_step(self._step(question))
        reply = self._gate.ask(question)
        self._replies.append(reply)
        return {case: reply.answers.get(case, ABSENT) for case in (reply.answers if cases is None else cases)}

    def _share(self, purpose: Purpose) -> float:
        """Return the error level of the next run."""
        if purpose == "accuse":
            self._accusations += 1
            return self._level * 0.5**self._accusations
        return self._level / (1 + _halvings(len(self._graph.order)))

    def _step(self, question: Question) -> Step:
        opened = [search for search in self._searches if search.open]
        bases = self._by(self._searches, lambda search: search.base).values()
        halvings = [max(_halvings(search.candidates.bit_count()) for search in of_base) for of_base in bases]
        left = sum(halvings) + len(bases) if self._searches else 2 + _halvings(len(self._graph.order))
        measured = [reply.seconds for reply in self._replies if reply.measured]
        seconds = left * sum(measured) / len(measured) if measured else None
        points = reduce(or_, (search.candidates for search in opened)).bit_count() if opened else len(self._graph.order)
        return Step(len(self._replies) + 1, question, left, points, seconds)

    @staticmethod
    def _by(searches: Iterable[Search], key: Callable[[Search], Point]) -> dict[Point, list[Search]]:
        groups: dict[Point, list[Search]] = defaultdict(list)
        for search in searches:
            groups[key(search)].append(search)
        return groups


def _halvings(count: int) -> int:
    """Return how many answers lead from this many candidates to one."""
    return math.ceil(math.log2(count)) if count > 1 else 0


def _in_vain(answers: Collection[Answer]) -> str:
    """Return why a search ended before one candidate was left."""
    found = [answer.found for answer in answers]
    return ", ".join(f"{found.count(kind)} {text}" for kind, text in UNANSWERED.items() if kind in found)
