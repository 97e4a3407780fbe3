"""Head and base side by side: two folders of code, one compiler, real workers."""

from __future__ import annotations

import dataclasses
import math
import shutil
import sys
from pathlib import Path

import plain
import pytest
from two_trees import CASE, NETWORK, Compare, comparison_of

from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.gate.launches import effect
from pytest_ngraph.record import Record

AROUND = """
import torch

class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 64)

    def forward(self, x):
        sum(range({count}))
        return self.layer(x)

def network(batch_size):
    return Network(), torch.ones(batch_size, 64)
"""
DECIDING = """
import torch

class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 64)

    def forward(self, x):
        for _ in range({count}):
            x = self.layer(x)
        return x if x.sum() > 0 else -x

def network(batch_size):
    return Network(), torch.ones(batch_size, 64)
"""
OURS = """
import time
from mine import Exact

class Ours(Exact):
    def run(self):
        time.sleep(SECONDS)
"""


ALIAS = str(Path(sys.executable).parent / ".." / Path(sys.executable).parent.name / Path(sys.executable).name)
"""This interpreter by another name."""
PLAIN = dataclasses.replace(CASE, workload="plain", compiler="mine:Exact")


@pytest.fixture
def plain_trees(compare: Compare, light_workers: None, tmp_path: Path) -> None:
    """Head and base have a workload and compilers that need no framework."""
    for folder in ("head", "base"):
        plain.put_into(tmp_path / folder)
        (tmp_path / folder / "numbers.txt").write_text("1 2 3")


def test_each_arm_runs_its_own_code(compare: Compare) -> None:
    """In one run for both cases, because every run imports torch in three processes."""
    records = compare(CASE, dataclasses.replace(CASE, compiler="identity"), launches=2)
    for record in records:
        assert record.outcome == "measured", record.failure
        assert record.comparison is not None
        assert record.comparison.against == "main at 1a2b3c4"
        assert [launch.fresh for launch in record.comparison.launches] == [False, True]
        for launch in record.comparison.launches:
            assert [len(build.rounds) > 0 for build in launch.builds] == [True, True]
            assert effect(launch).log_ratio < 0, "the head has a sixteenth of the base's work"
        screen = record.comparison.launches[0]
        heads = [seconds for each in screen.rounds for quad in each.quads for seconds in quad.head]
        assert record.samples == pytest.approx(heads), "the record is the head's"
        assert Record.from_dict(record.to_dict()) == record
    eager = records[1]
    assert eager.case.compiler == "identity"
    assert eager.facts["graph"] == "program", "one process cannot hold the modules of two revisions"
    assert eager.comparison is not None
    assert eager.comparison.subject == "program"
    modules = eager.comparison.module
    assert modules is not None, "the file that both are built from differs"
    assert (modules.subject, modules.placement, modules.problem) == ("module", "apart", "")
    assert [launch.fresh for launch in modules.launches] == [True, True]
    assert all(effect(launch).log_ratio < 0 for launch in modules.launches)


def test_python_around_an_equal_graph_is_measured_in_processes_of_their_own(compare: Compare, tmp_path: Path) -> None:
    for folder, count in (("head", 20_000), ("base", 0)):
        (tmp_path / folder / "nets.py").write_text(AROUND.format(count=count))
    comparison = comparison_of(compare(dataclasses.replace(CASE, compiler="identity"), launches=2))
    assert (comparison.subject, comparison.placement, comparison.module) == ("module", "apart", None)
    assert [launch.fresh for launch in comparison.launches] == [False, True]
    assert all(effect(launch).log_ratio > 0 for launch in comparison.launches)


def test_what_torch_export_refuses_is_measured_in_processes_of_their_own(compare: Compare, tmp_path: Path) -> None:
    for folder, count in (("head", 1), ("base", 40)):
        (tmp_path / folder / "nets.py").write_text(DECIDING.format(count=count))
    records = compare(dataclasses.replace(CASE, compiler="identity"), CASE)
    for record in records:
        comparison = comparison_of([record])
        assert (comparison.subject, comparison.placement, comparison.problem) == ("module", "apart", "")
        assert effect(comparison.launches[0]).log_ratio < 0


NEEDS_PROGRAM = dataclasses.replace(CASE, compiler="torchscript:graph=program")


def test_a_head_that_torch_export_refuses_is_lost_to_a_compiler_of_programs(compare: Compare, tmp_path: Path) -> None:
    (tmp_path / "head" / "nets.py").write_text(DECIDING.format(count=1))
    (record,) = compare(NEEDS_PROGRAM)
    assert record.skip_reason.startswith("torch.export refuses nets:network: ")
    assert record.comparison
    assert record.comparison.lost == record.skip_reason


def test_a_base_that_torch_export_refuses_is_nothing_to_lose(compare: Compare, tmp_path: Path) -> None:
    (tmp_path / "base" / "nets.py").write_text(DECIDING.format(count=1))
    comparison = comparison_of(compare(NEEDS_PROGRAM))
    assert comparison.base_skipped.startswith("torch.export refuses nets:network: ")
    assert comparison.broken == ""


@pytest.mark.usefixtures("plain_trees")
def test_a_compiler_of_ones_own_that_changed_compiles_each_arm_at_its_own_side(
    compare: Compare, tmp_path: Path
) -> None:
    for folder, seconds in (("head", 0.004), ("base", 0.001)):
        (tmp_path / folder / "ours.py").write_text("from pauses import SECONDS\n" + OURS)
        (tmp_path / folder / "pauses.py").write_text(f"SECONDS = {seconds}")
    case = dataclasses.replace(CASE, workload="plain", compiler="ours:Ours")
    comparison = comparison_of(compare(case, launches=2))
    assert (comparison.subject, comparison.placement, comparison.same) == ("compiler", "apart", False)
    assert all(effect(launch).log_ratio > 0.5 for launch in comparison.launches), "the base's own takes a quarter"
    (tmp_path / "base" / "pauses.py").write_text("SECONDS = 0.004")
    assert comparison_of(compare(case)).same
    (tmp_path / "base" / "ours.py").unlink()
    problem = comparison_of(compare(case)).problem
    assert problem.startswith("the base does not run: raised in compile: compiler 'ours:Ours' cannot be imported")


def test_equal_graphs_are_not_measured_against_each_other(compare: Compare, tmp_path: Path) -> None:
    (tmp_path / "base" / "nets.py").write_text(NETWORK.format(width=64) + "# a comment\n")
    (record,) = compare()
    assert record.comparison == Comparison(against="main at 1a2b3c4", same=True)
    assert len(record.rounds) >= 6, "the head is measured all the same"


@pytest.mark.usefixtures("plain_trees")
def test_what_the_base_lacks_is_new(compare: Compare) -> None:
    (record,) = compare(PLAIN, case_of=lambda case: None)
    assert record.comparison == Comparison(against="main at 1a2b3c4", new=True)
    assert record.rounds


@pytest.mark.usefixtures("plain_trees")
def test_a_base_that_cannot_be_built_is_reported(compare: Compare, tmp_path: Path) -> None:
    (tmp_path / "base" / "numbers.txt").write_text("broken then")
    (record,) = compare(PLAIN)
    assert record.comparison is not None
    assert not record.comparison.new
    assert "broken" in record.comparison.problem
    assert record.rounds


@pytest.mark.usefixtures("plain_trees")
def test_a_base_that_crashes_under_the_compiler_is_reported(compare: Compare) -> None:
    (record,) = compare(PLAIN, case_of=lambda case: dataclasses.replace(case, compiler="nowhere:Compiler"))
    assert record.comparison is not None
    assert not record.comparison.new
    assert "nowhere" in record.comparison.problem
    assert record.rounds


def test_a_head_that_cannot_be_measured_is_not_compiled_again(
    compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "nowhere")
    head = dataclasses.replace(CASE, compiler="inductor")
    (record,) = compare(head, case_of=lambda case: CASE)
    assert "'nowhere' is not on PATH" in record.skip_reason
    assert record.comparison is not None
    assert (record.comparison.problem, record.comparison.launches) == ("", ())
    assert record.comparison.lost == record.skip_reason, "the base was compiled"


def test_code_of_the_head_is_never_taken_for_the_base(compare: Compare, tmp_path: Path) -> None:
    (record,) = compare(path=tmp_path / "head")
    assert record.comparison is not None
    assert "nets" in record.comparison.problem
    assert not record.comparison.launches


def test_an_installed_copy_is_never_taken_for_the_head(
    compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, own = tmp_path / "site-packages", tmp_path / "head" / "src"
    for folder, width in ((installed, 64), (own, 96)):
        folder.mkdir()
        (folder / "nets.py").write_text(NETWORK.format(width=width))
    monkeypatch.syspath_prepend(str(installed))
    (record,) = compare(own_path=[own], case_of=lambda case: None)
    assert record.failure is not None
    assert f"{installed}/nets.py, an installed copy that differs from {own}/nets.py" in record.failure.message


@pytest.mark.usefixtures("plain_trees")
def test_an_installed_copy_of_a_compiler_is_never_taken_for_the_heads(
    compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing imports a compiler before it compiles."""
    installed, own = tmp_path / "site-packages", tmp_path / "head" / "src"
    for folder, seconds in ((installed, 0.001), (tmp_path / "base", 0.001), (own, 0.01)):
        folder.mkdir(exist_ok=True)
        (folder / "ours.py").write_text(OURS.replace("SECONDS", str(seconds)))
    monkeypatch.syspath_prepend(str(installed))
    (record,) = compare(dataclasses.replace(PLAIN, compiler="ours:Ours"), own_path=[own])
    assert record.failure is not None
    assert f"{installed}/ours.py, an installed copy that differs from {own}/ours.py" in record.failure.message


@pytest.mark.usefixtures("plain_trees")
def test_another_interpreter_runs_in_a_process_of_its_own(compare: Compare, tmp_path: Path) -> None:
    for folder, weight in (("head", "100"), ("base", "400")):
        shutil.copy(plain.USERS / "weighing.py", tmp_path / folder)
        (tmp_path / folder / "numbers.txt").write_text(weight)
    home = Home(python=ALIAS, folder=tmp_path / "base", path=[str(tmp_path / "base")])
    case = dataclasses.replace(CASE, workload="plain", compiler="weighing:Weighs")
    comparison = comparison_of(compare(case, home=home, instead_of=None, launches=2))
    assert comparison.placement == "apart"
    assert [launch.fresh for launch in comparison.launches] == [False, True]
    assert [effect(each).log_ratio for each in comparison.launches] == pytest.approx([-math.log(4)] * 2)


@pytest.mark.parametrize(
    ("numbers", "lost"), [("1 2 9", "picky cannot convert the operator Big"), ("elsewhere", "its")]
)
def test_another_interpreter_that_runs_what_this_one_cannot_shows_that_it_is_lost(
    compare: Compare, tmp_path: Path, numbers: str, lost: str
) -> None:
    for folder, own in (("head", numbers), ("base", "1 2 3")):
        plain.put_into(tmp_path / folder)
        (tmp_path / folder / "numbers.txt").write_text(own)
    home = Home(python=ALIAS, folder=tmp_path / "base", path=[str(tmp_path / "base")])
    case = dataclasses.replace(CASE, workload="plain", compiler="lacking:Picky")
    (record,) = compare(case, home=home, instead_of=None)
    assert record.comparison is not None
    assert (record.outcome, record.comparison.placement) == ("skipped", "apart")
    assert record.comparison.lost == record.skip_reason
    assert record.skip_reason.startswith(lost)
