"""Which environments are compared, and what is accused that is no package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_ngraph.bisect.answer import Answer
from pytest_ngraph.bisect.bisection import Bisection
from pytest_ngraph.bisect.child import Ran, Request
from pytest_ngraph.bisect.environments import GOOD, Environments
from pytest_ngraph.bisect.interpreter import Interpreter
from pytest_ngraph.bisect.libraries import Package
from pytest_ngraph.bisect.options import Asked
from pytest_ngraph.bisect.outcome import Outcome
from pytest_ngraph.bisect.question import Question, Reply
from pytest_ngraph.stats import Estimate

ASKED = Asked(good="good", bad="bad", libraries=True)


def of_version(python: str, version: str, patch: str, *names: str, folder: str = "") -> Interpreter:
    packages = {name: Package(name=name, version=version) for name in names}
    packages |= {folder: Package(name=folder, version="1", fixed=True)} if folder else {}
    return Interpreter(python=python, version="CPython 3.11", patch=patch, packages=packages, folders=())


@pytest.fixture
def environments(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Environments]:
    """Makes environments that differ in these packages, and in the last digits of Python's version."""

    def made(*names: str) -> Environments:
        known = {
            "good": of_version("good", "1", "3.11.4", *names, folder="lib"),
            "bad": of_version("bad", "2", "3.11.7", *names, folder="lib"),
        }
        monkeypatch.setattr("pytest_ngraph.bisect.environments.described", lambda python, option: known[python])
        return Environments(ASKED)

    return made


def bisect(between: Environments, is_slower: Callable[[str], bool]) -> Outcome:
    """Bisect one case, which is slower by 5 % in environments for which `is_slower` says so."""

    class Oracle:
        def ask(self, question: Question) -> Reply:
            head, base = (1.05 if is_slower(point) else 1.0 for point in (question.head, question.base))
            found: Any = "worse" if head > base else "fine"
            return Reply({"a": Answer(found=found, ratio=Estimate.exactly(head / base))}, 1.0, measured=True)

    return Bisection(between.graph, between.good, between.bad, Oracle()).run()


@pytest.mark.parametrize("names", [("one",), ("one", "two", "three")])
def test_no_package_is_accused_of_what_a_copy_does_not_have(
    environments: Callable[..., Environments], names: tuple[str, ...]
) -> None:
    """Python itself is the slower one, and the packages differ as well."""
    between = environments(*names)
    (culprit,) = bisect(between, lambda point: point == between.bad).culprits
    assert culprit.point == between.bad
    assert between.name(culprit.point) == (
        "the bad environment itself (what is not a package that can be changed: Python 3.11.4 -> 3.11.7, native "
        "libraries, files changed in place, lib installed from a folder)"
    )
    assert between.described(culprit.point) == {"packages": []}


def test_the_last_package_is_accused_where_a_copy_with_it_is_slower(environments: Callable[..., Environments]) -> None:
    between = environments("one", "two")
    (culprit,) = bisect(between, lambda point: point not in (GOOD, "one 1 -> 2")).culprits
    assert (culprit.point, culprit.parent) == ("two 1 -> 2", "one 1 -> 2")


def test_every_change_is_made_in_a_copy_and_the_bad_environment_is_as_it_is(
    environments: Callable[..., Environments], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    between = environments("one", "two")
    asked: list[tuple[str, str]] = []

    def built(folder: Path, good: Interpreter, made: Any, find_links: Any) -> str:
        return f"{good.python} with {' and '.join(change.text for change in made)}"

    def run(python: str, request: Request, *_: Any) -> Ran:
        (base,) = (each.partition("=")[2] for each in request.arguments if each.startswith("--ngraph-against-python="))
        asked.append((python, base))
        return Ran(lines={"a": {"case": "a", "own": "a", "data": {}, "nodeid": "t"}})

    monkeypatch.setattr("pytest_ngraph.bisect.environments.build", built)
    monkeypatch.setattr("pytest_ngraph.bisect.environments.run", run)
    gate = between.gate(ASKED, tmp_path)
    for head, base in ((between.bad, GOOD), ("two 1 -> 2", GOOD), (between.bad, "two 1 -> 2")):
        gate.ask(Question(purpose="search", head=head, base=base, cases=None, level=0.01))
    copy = "good with one 1 -> 2 and two 1 -> 2"
    assert asked == [("bad", "good"), (copy, "good"), ("bad", copy)]
