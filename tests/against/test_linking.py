"""A new anchor beside the one before it: when it is measured, and what is said of it. No pytest is started."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nights
import pytest
from repository import Repository
from synthetic import case

from pytest_ngraph.against import linking
from pytest_ngraph.against.linking import Anchors, changed, measure
from pytest_ngraph.case import Case
from pytest_ngraph.history.index import Index
from pytest_ngraph.history.summary import Origin, Ratio, Summary, write
from pytest_ngraph.system.command import Finished

V1, V2, V3 = "a" * 40, "b" * 40, "c" * 40


A, B, C = case("tvm"), case("openvino"), case("inductor")


def kept(store: Path, *measured: tuple[str, str] | tuple[str, str, Case]) -> None:
    """Write a store with a night for each commit and the commit of its anchor, of the case A unless it is given."""
    ratio = Ratio(0.01, 0.003, 0.004, 0.016)
    found = []
    for night, (commit, anchor, *given) in enumerate(measured):
        of = given[0] if given else A
        source = {"commit": commit, "anchor": f"v-{anchor[0]}", "anchor commit": anchor}
        summary = Summary(case_id=of.id, case=of.to_dict(), outcome="measured", started_at=float(night), ratio=ratio)
        found.append((Origin(run=str(night), environment=nights.ENVIRONMENT, source=source), summary))
    write(store / "summaries" / "nights.jsonl", found)


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        ([], []),
        ([("1", V1)], [Anchors("v2", V2, "v-a", V1, (A.id,))]),
        ([("1", V1), (V2, V1)], []),
        ([("1", V1), ("2", V2)], []),
        ([("1", V2), ("2", V1)], []),
    ],
)
def test_an_anchor_is_new_if_no_night_had_it_or_measured_it(
    tmp_path: Path, measured: list[tuple[str, str]], expected: list[Anchors]
) -> None:
    kept(tmp_path, *measured)
    with Index(tmp_path) as index:
        index.update()
        assert changed(index, "v2", V2, [A.id]) == expected


def test_an_anchor_is_new_to_each_case_by_itself(tmp_path: Path) -> None:
    """As for the second of two commands on one store, and where measuring the link was interrupted."""
    first = [("1", V1, A), ("1", V1, B), ("2", V3, C)]
    kept(tmp_path, *first, (V2, V1, A), ("3", V2, A))
    with Index(tmp_path) as index:
        index.update()
        of_both = changed(index, "v2", V2, [A.id, B.id, C.id, "a case that is new"])
        assert of_both == [Anchors("v2", V2, "v-a", V1, (B.id,)), Anchors("v2", V2, "v-c", V3, (C.id,))]
        assert not changed(index, "v2", V2, [A.id])


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository.create(tmp_path / "project")
    made.write("benchmarks/test_it.py", "")
    made.commit("first")
    return made


def child(
    monkeypatch: pytest.MonkeyPatch, status: int, then: Callable[[], None] = lambda: None
) -> list[dict[str, Any]]:
    """Let no pytest run, but what comes `then`; return what is asked of it."""
    asked: list[dict[str, Any]] = []
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")

    def run(command: Sequence[str], folder: Path, environment: Any, given: str) -> Finished:
        asked.append(json.loads(given) | {"folder": folder, "configs": environment.get("CONFIGS")})
        assert "GITHUB_STEP_SUMMARY" not in environment, "it would be a part of the night's summary"
        then()
        return Finished(status, "", "E   ImportError: gone" if status else "")

    monkeypatch.setattr(linking, "run", run)
    return asked


def test_the_new_anchors_files_are_measured_with_the_same_tests(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, store = repository.git("rev-parse", "HEAD"), tmp_path / "store"
    store.mkdir()
    asked = child(monkeypatch, 0, lambda: kept(store, ("1", V1), (new, V1)))
    monkeypatch.setenv("CONFIGS", str(repository.root / "benchmarks"))
    arguments = [str(repository.root / "benchmarks"), "-k", "it"]
    said = measure(Anchors("v2", new, "v1", V1, (A.id,)), arguments, repository.root, repository.root, store)
    assert said == "v2 beside v1 was measured once, for 1 case: their series go on from anchor to anchor."
    (request,) = asked
    assert request["cases"] == [A.id]
    tree = request["folder"]
    assert tree != repository.root
    assert request["configs"] == f"{tree}/benchmarks", "a variable that leads into the working tree"
    assert request["arguments"][2:] == [
        f"{tree}/benchmarks", "-k", "it", f"--ngraph-history={V1}", f"--ngraph-store={store}",
    ]  # fmt: skip
    assert repository.worktrees() == 1


def test_cases_that_are_left_without_a_link_are_counted(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, store = repository.git("rev-parse", "HEAD"), tmp_path / "store"
    store.mkdir()
    child(monkeypatch, 1, lambda: kept(store, (new, V1, A)))
    anchors = Anchors("v2", new, "v1", V1, (A.id, B.id, C.id))
    said = measure(anchors, [], repository.root, repository.root, store)
    assert said.startswith("v2 beside v1 was measured once, for 1 case: their series go on from anchor to anchor. ")
    assert said.endswith(f" 2 other cases could not be measured (ImportError: gone): {linking.APART}.")


def test_what_cannot_be_measured_is_said(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, store = repository.git("rev-parse", "HEAD"), tmp_path / "store"
    kept(store, ("1", V1))
    asked = child(monkeypatch, 1)
    said = measure(Anchors("v2", new, "v1", V1, (A.id,)), [], repository.root, repository.root, store)
    assert said == f"v2 beside v1 could not be measured (ImportError: gone): {linking.APART}."
    gone = measure(Anchors("v2", V2, "v1", V1, (A.id,)), [], repository.root, repository.root, store)
    assert gone.startswith(f"v2 beside v1 could not be measured (no revision '{V2}' in ")
    assert len(asked) == 1
    own = measure(Anchors("v2", f"{new} 1a2b", "v1", V1, (A.id,)), [], repository.root, repository.root, store)
    assert "libraries of its own is linked only by a commit that is measured beside both" in own
    assert len(asked) == 1
