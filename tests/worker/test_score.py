"""The user's own score: what it is given, and a message for each mistake."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.worker.score import score

OUTPUTS = [np.array([[0.1, 0.9], [0.8, 0.2]], dtype=np.float32), np.array(3.0, dtype=np.float32)]


class Scores:
    """Functions of a user's module."""

    @staticmethod
    def accuracy(outputs: list[np.ndarray]) -> object:
        assert isinstance(outputs, list)
        return np.float64(np.mean(outputs[0].argmax(axis=1) == [1, 1]))

    @staticmethod
    def fails(outputs: list[np.ndarray]) -> float:
        return float(outputs[2])

    @staticmethod
    def empty(outputs: list[np.ndarray]) -> float:
        return float("nan")

    @staticmethod
    def nothing(outputs: list[np.ndarray]) -> None: ...


@pytest.fixture(autouse=True)
def _module(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("scored_by_me")
    module.Scores, module.accuracy, module.labels = Scores, Scores.accuracy, 3  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "scored_by_me", module)


def test_it_is_given_all_outputs_and_returns_a_number() -> None:
    for name in ("scored_by_me:accuracy", "scored_by_me:Scores.accuracy"):
        found = score(name, tuple(OUTPUTS))
        assert found == 0.5
        assert type(found) is float


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:f", r"no_such_module cannot be imported \(ModuleNotFoundError: .*from the folder in which"),
        ("scored_by_me:acuracy", r"unknown function of scored_by_me 'acuracy'. Did you mean 'accuracy'\?"),
        ("scored_by_me:labels", r"labels is not callable \(type: int\). Name a function that takes the outputs"),
        ("scored_by_me:Scores.fails", r"raised IndexError: .* list of the outputs: float32 2x2, float32 scalar"),
        ("scored_by_me:Scores.empty", r"returned float nan. Return a finite number; higher is better"),
        ("scored_by_me:Scores.nothing", r"returned NoneType None. Return a finite number"),
    ],
)
def test_a_mistake_gets_one_message(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        score(name, OUTPUTS)


def test_a_module_that_cannot_be_imported_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_score.py").write_text("raise OSError('labels.npy is missing')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageError, match=r"broken_score cannot be imported \(OSError: labels.npy is missing\)"):
        score("broken_score:f", OUTPUTS)
