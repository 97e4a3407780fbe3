"""`--ngraph-against` as its users see it: a small repository, two revisions, real workers.

They are forked with PyTorch imported. In `test_history`, workers start by themselves.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from xml.etree import ElementTree

import plain
import pytest
from repository import Repository

from pytest_ngraph import store

NETS = """
import torch

def network(width):
    return torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(4))), torch.ones(8, width)

def changed():
    return network({width})

def untouched():
    return network(64)

def added():
    return network(32)
"""
TESTS = """
import pytest

@pytest.mark.ngraph(workload=[{workloads}], compiler="torchscript", batch_size=8)
def test_speed(measurement): ...
"""
VARIANTS = """
import pytest

@pytest.mark.ngraph(workload="plain", compiler=[{compilers}], batch_size=4)
def test_speed(measurement): ...
"""
OWN = """
import pytest

@pytest.mark.ngraph(workload="plain", compiler="mine:Exact", batch_size=4)
def test_own(benchmark, compiled_model):
    benchmark(compiled_model)
"""
INI = "[pytest]\npythonpath = .\nngraph_cache = cache\n"
CONFIGURED = """
import os
from pathlib import Path

os.environ["NUMBERS"] = str(Path(__file__).parent / "configs" / "three.txt")
"""
INTERRUPTIBLE = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in its background without it
sys.exit(pytest.main(["--ngraph-against=main"]))
"""


@pytest.fixture
def branch(brief: None, forked_workers: None, forked_collecting: None, pytester: pytest.Pytester) -> Repository:
    """`main` has `changed` with narrow layers; the working tree, on it, has wide ones and a workload more.

    The wide ones take so much longer that other tests may run beside these."""
    made = Repository.create(pytester.path)
    made.write("pytest.ini", INI)
    made.write(".gitignore", "cache\n.ngraph\n__pycache__\n*.xml\n")
    made.write("nets.py", NETS.format(width=64))
    made.write("test_it.py", TESTS.format(workloads='"nets:changed", "nets:untouched"'))
    made.commit("narrow")
    made.write("nets.py", NETS.format(width=768))
    made.write("test_it.py", TESTS.format(workloads='"nets:changed", "nets:untouched", "nets:added"'))
    return made


@pytest.fixture
def untouched(quick_project: pytest.Pytester) -> Repository:
    """`main` is the working tree; its only case needs no framework."""
    made = Repository.create(quick_project.path)
    made.write(".gitignore", ".ngraph\n__pycache__\n")
    made.write("test_it.py", VARIANTS.format(compilers='"mine:Exact"'))
    made.commit("one variant")
    return made


def test_what_became_slower_fails_by_name(pytester: pytest.Pytester, branch: Repository) -> None:
    result = pytester.runpytest("--ngraph-against=main", "--ngraph-budget=0.2", "--junitxml=out.xml")
    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(
        [
            "*base: main at *, head: main at * with uncommitted changes",
            "*regressed: * slower than main at *, * launches, * rounds disturbed, margin 1.0 %",
            "*; changed: linear in `?`, linear in `?`, linear in `?` and 1 more; * of a call was profiled",
            "Against main at *: 1 regressed, 1 new, 1 unchanged",
            "*regressed * nets:changed-torchscript-b8-cpu *",
            "*new * nets:added-torchscript-b8-cpu*",
            "*unchanged * nets:untouched-torchscript-b8-cpu *",
            "*unchanged: same graph, weights and inputs, nothing to measure*",
        ]
    )
    properties = [
        {each.get("name"): each.get("value") for each in case.iter("property")}
        for case in ElementTree.parse(branch.root / "out.xml").iter("testcase")
    ]
    assert [each["ngraph_verdict"] for each in properties if each.get("ngraph_why")] == ["regressed"]
    assert sorted((each["ngraph_verdict"] or "", each.get("ngraph_margin") or "") for each in properties) == [
        ("new", ""),
        ("regressed", "1.0 %"),
        ("unchanged", ""),
    ]
    records = {record.case.workload: record for record in store.read(branch.root / ".ngraph").records}
    comparison = records["nets:changed"].comparison
    assert comparison is not None
    assert sum(launch.fresh for launch in comparison.launches) >= 3, "confirmed in fresh processes"
    assert branch.worktrees() == 1


@pytest.mark.parametrize("selection", [["-k", "spin"], ["test_it.py::test_speed[plain-mine:Exact:spin=1-b4-cpu]"]])
def test_an_added_variant_is_new_whatever_is_selected_with_it(
    quick_project: pytest.Pytester, untouched: Repository, selection: list[str]
) -> None:
    """It is not compared with the variant that the head still has."""
    untouched.write("test_it.py", VARIANTS.format(compilers='"mine:Exact", "mine:Exact:spin=1"'))
    result = quick_project.runpytest("--ngraph-against=main", *selection)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Against main at *: 1 new", "Nothing was compared with main at *"])


def test_a_revision_that_does_not_exist_is_one_message(pytester: pytest.Pytester, untouched: Repository) -> None:
    result = pytester.runpytest("--ngraph-against=mian")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: no revision 'mian' in *. Did you mean 'main'?*"])


@pytest.mark.parametrize("option", ["--collect-only", "--benchmark-disable"])
def test_nothing_is_compared_where_nothing_is_measured(
    pytester: pytest.Pytester, untouched: Repository, option: str
) -> None:
    result = pytester.runpytest("--ngraph-against=main", option)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*Against main*")
    assert untouched.worktrees() == 1
    assert ("Nothing was compared, because --benchmark-disable switches timing off." in result.stdout.str()) == (
        option == "--benchmark-disable"
    )


@pytest.mark.parametrize("option", ["--ngraph-max-seconds=0.001", "--benchmark-skip"])
def test_a_run_that_compares_nothing_says_so(pytester: pytest.Pytester, untouched: Repository, option: str) -> None:
    result = pytester.runpytest("-q", "--ngraph-against=main", option)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["Nothing was compared with main at *"])


def test_tests_that_time_a_model_themselves_are_named(pytester: pytest.Pytester, untouched: Repository) -> None:
    untouched.write("test_own.py", OWN)
    result = pytester.runpytest("-q", "--ngraph-against=main", "test_own.py")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "Nothing was compared with main at *",
            "Not compared: 1 test without the fixture measurement, such as test_own.py::test_own[[]plain-*].",
        ]
    )


@pytest.mark.usefixtures("brief", "forked_workers", "forked_collecting")
def test_modules_that_moved_with_their_tests_are_found_at_the_base(pytester: pytest.Pytester) -> None:
    """pytest puts the folder of a test into `sys.path`. At the base it is another one."""
    made = Repository.create(pytester.path)
    made.write(".gitignore", ".ngraph\n__pycache__\n")
    made.write("speed/nets.py", NETS.format(width=64))
    made.write("speed/test_it.py", TESTS.format(workloads='"nets:untouched"'))
    made.commit("speed")
    made.git("mv", "speed", "perf")
    result = pytester.runpytest("perf", "--ngraph-against=main")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Against main at *: 1 unchanged"])


@pytest.fixture
def configured(quick_project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Its workload weighs 100, by a file that the variable `NUMBERS` leads to."""
    monkeypatch.setenv("NUMBERS", "")
    shutil.copy(plain.USERS / "weighing.py", quick_project.path)
    made = Repository.create(quick_project.path)
    made.write(".gitignore", ".ngraph\n__pycache__\n")
    made.write("test_it.py", VARIANTS.format(compilers='"weighing:Weighs"'))
    made.write("conftest.py", CONFIGURED)
    made.write("numbers.txt", "$NUMBERS")
    made.write("configs/three.txt", "60 20 20")
    made.commit("configured")
    return made


def test_a_variable_leads_the_base_to_its_own_file(quick_project: pytest.Pytester, configured: Repository) -> None:
    configured.write("configs/three.txt", "60 40 20")
    result = quick_project.runpytest("--ngraph-against=main")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["Against main at *: 1 regressed"])


def test_a_base_that_reads_a_file_of_the_head_is_refused(
    quick_project: pytest.Pytester, configured: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable may hold more than a path."""
    (configured.root / "conftest.py").unlink()
    configured.write("numbers.txt", "/$NUMBERS")
    configured.commit("by a variable that is no path")
    monkeypatch.setenv("NUMBERS", f"{configured.root.resolve()}/configs/three.txt".removeprefix("/"))
    quick_project.runpytest("--ngraph-against=main").stdout.fnmatch_lines(["Against main at *: 1 unchanged"])
    configured.write("configs/three.txt", "60 40 20")
    result = quick_project.runpytest("--ngraph-against=main")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the base was built with a file of the head: configs/three.txt*"])


def test_an_interrupt_leaves_no_worktree(branch: Repository) -> None:
    run = subprocess.Popen([sys.executable, "-c", INTERRUPTIBLE], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not list((branch.root / ".git").glob("worktrees/*/HEAD")):
            assert run.poll() is None
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=60) == pytest.ExitCode.INTERRUPTED
    finally:
        run.kill()
    assert branch.worktrees() == 1
    assert not (branch.root / ".git" / "worktrees").exists()
