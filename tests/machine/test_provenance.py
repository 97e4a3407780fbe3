from __future__ import annotations

import dataclasses

import pytest

from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.machine import machine
from pytest_ngraph.machine.provenance import changes, of_compiling
from pytest_ngraph.system import installed
from pytest_ngraph.worker.cache import key_of


def test_what_sets_a_compiler_is_a_part_of_what_is_compiled(monkeypatch: pytest.MonkeyPatch, a_case: Case) -> None:
    before = of_compiling(a_case, Target(), "graph")
    monkeypatch.setenv("TORCHINDUCTOR_MAX_AUTOTUNE", "1")
    after = of_compiling(a_case, Target(), "graph")
    assert key_of(after) != key_of(before)
    assert changes(before, after) == ["variables: TORCHINDUCTOR_MAX_AUTOTUNE none -> 1"]


def test_the_cxx_compiler_is_a_part_of_what_is_compiled(monkeypatch: pytest.MonkeyPatch, a_case: Case) -> None:
    before = of_compiling(a_case, Target(), "graph")
    monkeypatch.setattr(installed, "cxx_version", lambda: "g++ 99.1")
    assert key_of(of_compiling(a_case, Target(), "graph")) != key_of(before)


def test_the_variables_that_set_up_a_worker_are_not(monkeypatch: pytest.MonkeyPatch, a_case: Case) -> None:
    """A worker looks up compiled artifacts in an environment that differs from the session's."""
    before = of_compiling(a_case, Target(), "graph")
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS", "TMPDIR"):
        monkeypatch.setenv(name, "2")
    assert of_compiling(a_case, Target(), "graph") == before


def test_cores_that_are_chosen_in_each_session_count_by_their_number(
    monkeypatch: pytest.MonkeyPatch, a_case: Case
) -> None:
    limited = dataclasses.replace(machine.this_machine(), quota=2)
    first, second, third = (Target(cores=cores) for cores in ((0, 1), (6, 7), (6, 7, 8)))
    assert of_compiling(a_case, first, "graph") != of_compiling(a_case, second, "graph")
    monkeypatch.setattr(machine, "this_machine", lambda: limited)
    assert of_compiling(a_case, first, "graph") == of_compiling(a_case, second, "graph")
    assert of_compiling(a_case, first, "graph") != of_compiling(a_case, third, "graph")
