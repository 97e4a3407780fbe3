"""Thresholds that hold metrics to a base's, as their users see them: two revisions, real workers."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import plain
import pytest
from repository import Repository

from pytest_ngraph import store

NETS = """
import torch

class Priced(torch.nn.Module):
    def __init__(self, width, layers, prices):
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(layers)))
        self.register_buffer("prices", torch.tensor(prices))

    def forward(self, x):
        return self.layers(x), self.prices * 1

def heavy(batch_size):
    return Priced(512, 8, [0.003, 0.0001, 0.0, 0.0]), torch.ones(batch_size, 512)

def light(batch_size):
    return Priced(64, 1, {prices}), torch.ones(batch_size, 64)
"""
TESTS = """
import plain
import pytest

@pytest.mark.ngraph(workload=["nets:heavy", "nets:light"], compiler=["identity", "mine:Priced"], batch_size=[1, 4])
def test_speed(measurement): ...
"""
INI = """
[pytest]
pythonpath = .
ngraph_cache = cache
ngraph_fail_on =
    bsr:5%
    compile_s:20% if b=1
    worker_memory:10% if b=1 and compiler=mine:Priced
    rank_inversions:new if b=1
"""


@pytest.fixture
def branch(pytester: pytest.Pytester) -> Repository:
    """In the working tree, `light` takes more time than on `main`, the more so for larger batches, more to compile and
    more memory: under the compiler, not under identity, it is slower than `heavy` then."""
    made = Repository.create(pytester.path)
    made.write("pytest.ini", INI)
    made.write(".gitignore", "cache\n.ngraph\n__pycache__\n*.xml\n*.md\n*.json\n")
    made.write("mine.py", (plain.USERS / "mine.py").read_text())
    made.write("nets.py", NETS.format(prices=[0.0015, 0.0001, 0.4, 1.0]))
    made.write("test_it.py", TESTS)
    made.commit("cheap")
    made.write("nets.py", NETS.format(prices=[0.004, 0.002, 1.2, 200.0]))
    return made


@pytest.mark.alone
@pytest.mark.slow
def test_what_got_worse_is_found_by_name(pytester: pytest.Pytester, branch: Repository) -> None:
    result = pytester.runpytest_subprocess(
        "--ngraph-against=main",
        "--ngraph-gate-threads=1",
        "--ngraph-level=5%",
        "--ngraph-budget=0.5",
        "--junitxml=out.xml",
        "--ngraph-summary=gate.md",
    )
    light = "nets:light-mine:Priced"
    result.assert_outcomes(passed=6, failed=2)
    result.stdout.fnmatch_lines(
        [
            f"bsr:5% regressed: {light}-b4-cpu has bsr *, main at * *: -*",
            "Metrics against main at *: 4 regressed, 3 unchanged",
            "rank_inversions[[]b=1[]]:new regressed: mine:Priced-b1-cpu against identity: 1 new inversion: "
            "nets:light-b1-cpu beats nets:heavy-b1-cpu under identity * but loses under mine:Priced *",
        ]
    )
    gate = json.loads((branch.root / "gate.json").read_text())
    assert {(each["metric"], each["id"]): each["name"] for each in gate["metrics"]} == {
        ("bsr", "nets:heavy-mine:Priced-b4-cpu"): "unchanged",
        ("bsr", f"{light}-b4-cpu"): "regressed",
        ("compile_s", "nets:heavy-mine:Priced-b1-cpu"): "unchanged",
        ("compile_s", f"{light}-b1-cpu"): "regressed",
        ("worker_memory_bytes", "nets:heavy-mine:Priced-b1-cpu"): "unchanged",
        ("worker_memory_bytes", f"{light}-b1-cpu"): "regressed",
        ("rank_inversions", "mine:Priced-b1-cpu against identity"): "regressed",
    }
    properties = {
        case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")}
        for case in ElementTree.parse(branch.root / "out.xml").iter("testcase")
    }
    assert properties[f"test_speed[{light}-b4-cpu]"]["ngraph_verdict[bsr:5%]"] == "regressed"
    launched = {
        record.case.id: len(record.comparison.alone)
        for record in store.read(branch.root / ".ngraph").records
        if record.comparison
    }
    assert {name for name, count in launched.items() if count} == {f"{light}-b1-cpu"}


def test_without_a_base_it_is_one_message(project: pytest.Pytester) -> None:
    result = project.runpytest("--compiler=mine:Exact", "--ngraph-fail-on=throughput:5%")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: threshold 'throughput:5%' compares with a base, which this run does not have. Give one (--ngraph-*"]
    )
    collected = project.runpytest("--compiler=mine:Exact", "--ngraph-fail-on=throughput:5%", "--collect-only")
    assert collected.ret == 0, "a base's tests are collected with the same thresholds, and without a base"


def test_without_a_base_those_of_the_ini_file_are_left_out(project: pytest.Pytester) -> None:
    with (project.path / "tox.ini").open("a") as ini:
        ini.write("\nngraph_fail_on =\n    bsr:5%\n    throughput<0.001\n")
    result = project.runpytest("--compiler=mine:Exact", "--ngraph-summary=gate.md", "--ngraph-fail-on=throughput<0.002")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["Left out: bsr:5% (ngraph_fail_on in the ini file). This run has no base."])
    assert "Left out: bsr:5%" in (project.path / "gate.md").read_text()
    refused = project.runpytest("--compiler=mine:Exact", "--ngraph-fail-on=bsr:5%")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR, "the command line asks for a comparison of this very run"
