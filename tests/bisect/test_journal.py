"""The journal of a bisection."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest
from synthetic import case

from pytest_ngraph.bisect.answer import Answer
from pytest_ngraph.bisect.journal import Journal, JournaledGate
from pytest_ngraph.bisect.options import Asked
from pytest_ngraph.bisect.question import Question, Reply
from pytest_ngraph.case import Case
from pytest_ngraph.cli import main

ASKED = Asked(good="v1", bad="HEAD")
ENDS = Question(purpose="ends", head="b", base="a", cases=None, level=0.01)


class Gate:
    """Answers once, and keeps what it is taught."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self.learned: list[Reply] = []

    def ask(self, question: Question) -> Reply:
        return self._reply

    def learn(self, question: Question, reply: Reply) -> None:
        self.learned.append(reply)


def test_a_reply_is_read_back_also_with_an_infinite_argument(tmp_path: Path) -> None:
    of = case("tvm", model_args=(("clip", math.inf),))
    learned = {"cases": {of.id: {"nodeid": "test_it.py::test_it", "data": of.to_dict()}}}
    gate = Gate(Reply({of.id: Answer(found="fine")}, 1.0, measured=True, learned=learned))
    journal = Journal.begin(tmp_path, ASKED, {})
    reply = JournaledGate(gate, journal).ask(ENDS)
    resumed = JournaledGate(gate, journal)
    assert resumed.earlier == 1
    assert resumed.ask(ENDS).answers == reply.answers
    (kept,) = gate.learned
    assert Case.from_dict(kept.learned["cases"][of.id]["data"]) == of


def test_a_resumption_that_is_refused_releases_the_bisection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where the command is called from a program that catches its errors and tries again."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    Journal.begin(tmp_path / "store", ASKED, {}).close()
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(tmp_path / "project")
    for _ in range(2):
        assert main(["bisect", "--resume", f"--store={tmp_path / 'store'}"]) == 2
        assert "was begun in" in capsys.readouterr().err
