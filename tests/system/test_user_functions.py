"""Functions that users name by their import strings."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.user_functions import check_found, check_score, is_import_string, user_function


@pytest.mark.parametrize("text", ["nets:small", "package.nets:Nets.small"])
def test_an_import_string_names_a_module_and_something_in_it(text: str) -> None:
    assert is_import_string(text)


@pytest.mark.parametrize("text", ["", "nets", ":small", "nets:", "my nets:small", "nets/small:f", "nets:small()"])
def test_other_texts_are_none(text: str) -> None:
    assert not is_import_string(text)


def test_a_function_is_imported() -> None:
    assert user_function("math:sqrt", "score", "returns a number") is math.sqrt


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("math:sqr", r"unknown function of math 'sqr'. Did you mean 'sqrt'\?"),
        ("math:pi", r"score 'math:pi': pi is not callable \(type: float\). Name a function that returns a number."),
        ("nowhere:f", "nowhere cannot be imported .* from the folder in which pytest runs."),
    ],
)
def test_a_mistake_gets_one_message(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        user_function(text, "score", "returns a number")


def test_a_package_that_is_not_there_is_found_without_importing_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nested" / "deeper").mkdir(parents=True)
    (tmp_path / "broken.py").write_text("raise RuntimeError")
    monkeypatch.syspath_prepend(tmp_path)
    check_found("broken:net", "workload")
    check_found("nested.deeper.nets:net", "workload")
    with pytest.raises(UsageError, match=r"score 'nowhere.nets:f': there is no package or module nowhere. It must be"):
        check_found("nowhere.nets:f", "score")


@pytest.mark.parametrize("name", ["", "accuracy", "a:", ":b", "folder/nets.py:b", "nets:b()", 3, None])
def test_only_an_import_string_names_a_function(name: object) -> None:
    with pytest.raises(UsageError, match=r"is not an import string. Write package.module:function"):
        check_score(name)
