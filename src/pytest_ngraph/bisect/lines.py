"""A bisection as lines for the terminal: each step as it begins, and the outcome."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from pytest_ngraph.bisect.answer import UNANSWERED, Answer, usual_reasons
from pytest_ngraph.bisect.bisection import Step
from pytest_ngraph.bisect.graph import Point
from pytest_ngraph.bisect.outcome import Culprit, Outcome, Range
from pytest_ngraph.gate.in_words import change
from pytest_ngraph.gate.why import UNEXPLAINED
from pytest_ngraph.wording import counted, listed

Name = Callable[[Point], str]
"""Returns what users know a point by, in one line."""
MOST_POINTS = 20
"""Points of a range that are listed."""


def became(improved: bool) -> str:
    """Return what the cases became that are looked for."""
    return "faster" if improved else "slower"


def of_step(step: Step, name: Name) -> str:
    """Return a line such as `step 3 of about 8, 16 in question, about 4 min left: 1a2b3c4 A. User: Widen`."""
    question = step.question
    left = "" if step.seconds_left is None else f", about {_duration(step.seconds_left)} left"
    total = step.number + step.left - 1
    what = {
        "ends": "is there a difference",
        "search": f"{step.points:,} in question",
        "accuse": "beside the one before it",
        "rest": "is there more after it",
    }[question.purpose]
    longer = ", measured longer" if question.launches else ""
    return f"step {step.number} of about {total}, {what}{longer}{left}: {name(question.head)}"


def of_reply(answers: Mapping[str, Answer], seconds: float, word: str) -> str:
    """Return a line such as `  3 slower, 1 as before, 2 not testable, in 41 s`, and one that says why they are not."""
    words = {"worse": word, "fine": "as before", "undecided": "undecided", "untestable": "not testable"}
    found = [answer.found for answer in answers.values()]
    counts = [f"{found.count(kind)} {text}" for kind, text in words.items() if kind in found]
    same = sum(bool(answer.same_as) for answer in answers.values())
    which = "" if same == len(answers) else f"{same} of them "
    known = [f"{which}without measuring, built as at a commit that was measured"] if same else []
    reason = usual_reasons(answers.values()).get("untestable")
    why = f"\n    {reason}" if reason else ""
    return f"  {', '.join([*counts, *known, f'in {_duration(seconds)}'])}{why}"


def of_outcome(outcome: Outcome, name: Name, noun: str, *, improved: bool) -> list[str]:
    """Return the outcome in lines.

    Args:
        noun: what a point is: `commit`.
    """
    word = became(improved)
    if not outcome.regressed:
        return list(_nothing(outcome, word))
    found: list[str] = []
    by_point: dict[Point, list[Culprit]] = defaultdict(list)
    for culprit in outcome.culprits:
        by_point[culprit.point].append(culprit)
    for point, culprits in by_point.items():
        found.append(f"{name(point)} made {counted(len(culprits), 'case')} {word}:")
        for culprit in culprits:
            found += _case(culprit.case, culprit.answer)
    for each in outcome.ranges:
        found += _range(each, name, noun, word)
    for case, reason in outcome.unsure.items():
        found.append(f"Whether {case} became {word} once more after that is not known: {reason}.")
    undecided = [case for case, answer in outcome.total.items() if answer.found == "undecided"]
    if undecided:
        found.append(f"Undecided even between the ends: {listed(undecided, MOST_POINTS)}.")
    measured = f"{counted(outcome.measured, 'run')} measured"
    found.append(f"{counted(outcome.steps, 'step')} ({measured}), {_duration(outcome.seconds)}.")
    return found


def _nothing(outcome: Outcome, word: str) -> Iterator[str]:
    found = [answer.found for answer in outcome.total.values()]
    fine = "is not" if found.count("fine") == 1 else "are not"
    words = {"fine": fine, "undecided": "stayed undecided", "untestable": "cannot be compared"}
    counts = ", ".join(f"{found.count(kind)} {text}" for kind, text in words.items() if kind in found)
    details = "" if set(found) == {"fine"} else f": of {counted(len(found), 'case')}, {counts}"
    if set(found) == {"untestable"}:
        yield f"Nothing could be compared{details}."
    else:
        yield f"No case became {word} by more than the margin{details}."
    reasons = dict.fromkeys(f"{case}: {each.reason}" for case, each in outcome.total.items() if each.found != "fine")
    yield from (f"  {reason}" for reason in list(reasons)[:MOST_POINTS])


def _case(case: str, answer: Answer) -> Iterator[str]:
    yield f"  {case}: {_change(answer)}"
    if answer.why and not answer.why.startswith(UNEXPLAINED):
        yield f"    {answer.why}"


def _change(answer: Answer) -> str:
    return "by how much is not known" if answer.ratio is None else change(answer.ratio, answer.confidence)


def _range(found: Range, name: Name, noun: str, word: str) -> Iterator[str]:
    count = counted(len(found.points), noun)
    yield f"{found.case} became {word} in {count}, and it is not known in which: {found.reason}."
    yield f"  altogether {_change(found.answer)}"
    yield from (f"  {UNANSWERED[kind]}: {reason}" for kind, reason in found.reasons.items())
    yield from (f"  {name(point)}" for point in found.points[:MOST_POINTS])
    if len(found.points) > MOST_POINTS:
        yield f"  and {len(found.points) - MOST_POINTS} more"


def _duration(seconds: float) -> str:
    """Return `41 s`, `12 min` or `3.2 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"
