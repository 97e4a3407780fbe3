"""Numbers, lists and paths in words."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.wording import (
    Numbered,
    changes,
    counted,
    enumerated,
    first_line,
    grouped,
    listed,
    number_in,
    seen_from,
    significant,
    visible,
)


def test_one_and_many() -> None:
    assert [counted(count, "case") for count in (0, 1, 2, 2000)] == ["0 cases", "1 case", "2 cases", "2,000 cases"]
    assert [counted(count, "launch", "launches") for count in (1, 3)] == ["1 launch", "3 launches"]


def test_names_in_a_sentence() -> None:
    found = [enumerated(["a", "b", "c", "d"][:count], 3) for count in range(5)]
    assert found == ["", "a", "a and b", "a, b and c", "a, b, c and 1 more"]


def test_what_has_the_same_reason_is_grouped() -> None:
    pairs = [("slow", "tvm"), ("old", "onnx"), ("slow", "eager"), ("slow", "tvm")]
    assert grouped(pairs) == {"slow": ["tvm", "eager"], "old": ["onnx"]}


def test_what_differs_is_named_with_both_values() -> None:
    before, now = {"torch": "2.6", "numpy": "2.0", "flags": ""}, {"numpy": "2.0", "torch": "2.7", "flags": "-O3"}
    assert changes(before, now) == ["torch 2.6 -> 2.7", "flags none -> -O3"]
    assert changes({"threads": 0}, {"tvm": "0.22"}) == ["threads 0 -> none", "tvm none -> 0.22"]


def test_paths_are_relative_where_they_lie_below() -> None:
    here = Path("/project")
    assert seen_from(here, here / "report" / "index.html") == "report/index.html"
    assert seen_from(here, Path("/elsewhere")) == "/elsewhere"


def test_of_many_names_the_first_are_listed() -> None:
    assert [listed(["a", "b"], 3), listed(["a", "b", "c"], 3), listed([], 3)] == ["a, b", "a, b, c", ""]
    assert listed([*"abcde"], 3) == "a, b, c and 2 more"


def test_numbers_and_shares_are_read() -> None:
    assert [number_in(text) for text in ("5%", "0.05", " .5 ", "1e-2", "20 %")] == [0.05, 0.05, 0.5, 0.01, 0.2]
    assert all(number_in(text) < 0 for text in ("", "-1", "five", "nan", "1_0"))


def test_significant_digits() -> None:
    assert [significant(value, 3) for value in (0.0123456, 123456.0, 0.0)] == [0.0123, 123000.0, 0.0]


def test_a_text_that_repeats_has_one_number() -> None:
    numbers = Numbered(["first"])
    assert [numbers[text] for text in ("second", "first", "second")] == [1, 0, 1]
    assert [*numbers] == ["first", "second"]


def test_the_first_line_of_an_error() -> None:
    assert [first_line(ValueError(text)) for text in ("\n  not so\nbecause", "")] == ["not so", "no message"]
    of_openvino = (
        "Exception from src/inference/infer_request.cpp:224:\nException from src/node.cpp:7:\nK (0) is too low"
    )
    assert first_line(RuntimeError(of_openvino)) == "K (0) is too low"


def test_of_what_others_say_nothing_acts_on_a_terminal() -> None:
    said = {"a\x1b[2J": ["b\r\n\tc", 1.5, None, {"d": ("\x9b2J\u202e\x7f",)}], "é °C ®\xa0": True}
    assert visible(said) == {
        r"a\x1b[2J": ["b\\r\n\tc", 1.5, None, {"d": (r"\x9b2J\u202e\x7f",)}], "é °C ®\xa0": True
    }  # fmt: skip
