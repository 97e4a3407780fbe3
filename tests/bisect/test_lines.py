"""What the terminal shows of a bisection."""

from __future__ import annotations

from pytest_ngraph.bisect import lines
from pytest_ngraph.bisect.answer import Answer
from pytest_ngraph.bisect.bisection import Step
from pytest_ngraph.bisect.outcome import Culprit, Outcome, Range
from pytest_ngraph.bisect.question import Question
from pytest_ngraph.stats import Estimate

SLOWER = Answer(found="worse", ratio=Estimate(1.031, 1.026, 1.036), confidence=0.999, why="`layer4` +2.1 ms")
FASTER = Answer(found="worse", ratio=Estimate(0.9, 0.88, 0.92), confidence=0.99, why="where is not known: no reason")


def name(point: str) -> str:
    return f"{point} A. User: Widen"


def test_a_step_says_how_much_is_left() -> None:
    question = Question(purpose="search", head="1a2b3c4", base="v1", cases=("a",), level=0.001)
    step = Step(3, question, 6, 16, 250.0)
    assert lines.of_step(step, name) == ("step 3 of about 8, 16 in question, about 4 min left: 1a2b3c4 A. User: Widen")
    longer = Question(purpose="accuse", head="1a2b3c4", base="v1", cases=("a",), level=0.001, launches=21)
    assert lines.of_step(Step(9, longer, 1, 1, None), name) == (
        "step 9 of about 9, beside the one before it, measured longer: 1a2b3c4 A. User: Widen"
    )


def test_a_reply_says_what_needed_no_measuring() -> None:
    same = Answer(found="fine", same_as="1a2b3c4")
    answers = {"a": SLOWER, "b": same, "c": Answer(found="untestable", reason="broken")}
    assert lines.of_reply(answers, 41.0, "slower") == (
        "  1 slower, 1 as before, 1 not testable, 1 of them without measuring, built as at a commit that was measured, "
        "in 41 s\n    broken"
    )
    assert lines.of_reply({"b": same}, 7.0, "slower") == (
        "  1 as before, without measuring, built as at a commit that was measured, in 7 s"
    )


def test_the_outcome_leads_with_the_commits() -> None:
    outcome = Outcome(
        good="v1",
        bad="HEAD",
        total={"a": SLOWER, "b": SLOWER, "c": Answer(found="undecided")},
        culprits=[Culprit(case="a", point="abc", parent="aba", answer=SLOWER)],
        ranges=[
            Range(case="b", base="v1", tip="def", points=["dee", "def"], reason="1 stayed undecided", answer=SLOWER)
        ],
        steps=9,
        measured=7,
        seconds=400.0,
    )
    assert lines.of_outcome(outcome, name, "commit", improved=False) == [
        "abc A. User: Widen made 1 case slower:",
        "  a: 3.1 % slower (99.9 % interval 2.6 to 3.6 %)",
        "    `layer4` +2.1 ms",
        "b became slower in 2 commits, and it is not known in which: 1 stayed undecided.",
        "  altogether 3.1 % slower (99.9 % interval 2.6 to 3.6 %)",
        "  dee A. User: Widen",
        "  def A. User: Widen",
        "Undecided even between the ends: c.",
        "9 steps (7 runs measured), 7 min.",
    ]


def test_what_became_faster_is_shown_with_the_interval_that_way_round() -> None:
    outcome = Outcome(
        good="v1",
        bad="HEAD",
        total={"a": FASTER},
        culprits=[Culprit(case="a", point="abc", parent="aba", answer=FASTER)],
    )
    shown = lines.of_outcome(outcome, name, "commit", improved=True)
    assert shown[1] == "  a: 10.0 % faster (99 % interval 8.0 to 12.0 %)"
    assert shown[2].startswith("0 steps"), "an explanation that there is none is not shown"


def test_why_nothing_was_found_is_shown() -> None:
    total = {"a": Answer(found="fine"), "b": Answer(found="untestable", reason="it does not build")}
    assert lines.of_outcome(Outcome(good="v1", bad="HEAD", total=total), name, "commit", improved=False) == [
        "No case became slower by more than the margin: of 2 cases, 1 is not, 1 cannot be compared.",
        "  b: it does not build",
    ]


def test_where_nothing_could_be_compared_the_headline_says_so() -> None:
    total = {"a": Answer(found="untestable", reason="no such file: w.pt"), "b": Answer(found="untestable", reason="x")}
    assert lines.of_outcome(Outcome(good="v1", bad="HEAD", total=total), name, "commit", improved=False) == [
        "Nothing could be compared: of 2 cases, 2 cannot be compared.",
        "  a: no such file: w.pt",
        "  b: x",
    ]


def test_why_most_points_of_a_range_could_not_be_built_is_shown() -> None:
    found = Range(
        case="b",
        base="v1",
        tip="def",
        points=["def"],
        reason="3 cannot be built or run",
        answer=SLOWER,
        reasons={"untestable": "no such file: w.pt"},
    )
    outcome = Outcome(good="v1", bad="HEAD", total={"b": SLOWER}, ranges=[found])
    assert lines.of_outcome(outcome, name, "commit", improved=False)[:3] == [
        "b became slower in 1 commit, and it is not known in which: 3 cannot be built or run.",
        "  altogether 3.1 % slower (99.9 % interval 2.6 to 3.6 %)",
        "  cannot be built or run: no such file: w.pt",
    ]
