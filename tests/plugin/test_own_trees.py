"""`--ngraph-against` and Python around the graph, as its users see it: a small repository, real workers.

They are forked with PyTorch imported. Each launch has two, which would spend most of their time with importing it.
"""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from repository import Repository

NETS = """
import torch
import sizes

class Network(torch.nn.Module):
    def __init__(self, count):
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(4)))
        self.count = count

    def forward(self, x):
        sum(range(self.count))
        return self.layers(x)

def slower():
    return Network(sizes.COUNT), torch.ones(8, 64)

def alike():
    return Network(0), torch.ones(8, 64)
"""
OTHER = """
import torch

def alike():
    return torch.nn.Linear(64, 64), torch.ones(8, 64)
"""
TESTS = """
import pytest

@pytest.mark.ngraph(workload=[{workloads}], compiler=[{compilers}], batch_size=8)
def test_speed(measurement): ...
"""
INI = "[pytest]\npythonpath = .\nngraph_cache = cache\n"


@pytest.fixture
def repository(brief: None, forked_workers: None, forked_collecting: None, pytester: pytest.Pytester) -> Repository:
    made = Repository.create(pytester.path)
    made.write("pytest.ini", INI)
    made.write(".gitignore", "cache\n.ngraph\n__pycache__\n*.xml\nsummary*\n")
    return made


def gate(pytester: pytest.Pytester, *options: str) -> tuple[pytest.RunResult, dict[str, dict[str, str]]]:
    """Return the outcome of a run against main, and the properties that JUnit has for each test.

    It takes the fewest launches that a verdict needs, and none to profile what became slower.
    """
    result = pytester.runpytest(
        "--ngraph-against=main",
        "--ngraph-budget=0.3",
        "--ngraph-launches=3",
        "--ngraph-explain=none",
        "--junitxml=out.xml",
        "--ngraph-summary=summary.md",
        *options,
    )
    cases = ElementTree.parse(pytester.path / "out.xml").iter("testcase")
    return result, {
        case.get("name", ""): {p.get("name", ""): p.get("value", "") for p in case.iter("property")} for case in cases
    }


@pytest.mark.alone
def test_python_around_an_unchanged_graph_is_compared_as_modules(
    pytester: pytest.Pytester, repository: Repository
) -> None:
    repository.write("nets.py", NETS)
    repository.write("other.py", OTHER)
    repository.write("sizes.py", "COUNT = 0\n")
    workloads = '"nets:slower", "nets:alike", "other:alike"'
    repository.write("test_it.py", TESTS.format(workloads=workloads, compilers='"identity", "torchscript"'))
    repository.commit("quick")
    repository.write("sizes.py", "COUNT = 2_000_000  # nobody will notice\n")
    result, properties = gate(pytester, "-k", "identity or slower", "--ngraph-level=0.001")  # it runs often
    result.stdout.fnmatch_lines(["*regressed: the module is * slower than main at *, margin 4.2 %*"])
    slower = properties["test_speed[nets:slower-identity-b8-cpu]"]
    assert (slower["ngraph_verdict"], slower["ngraph_compared"]) == ("regressed", "module")
    alike = properties["test_speed[nets:alike-identity-b8-cpu]"]
    assert alike["ngraph_compared"] == "module"
    assert alike["ngraph_verdict"] in ("unchanged", "inconclusive")
    untouched = properties["test_speed[other:alike-identity-b8-cpu]"]
    assert untouched == {"ngraph_verdict": "unchanged"}, "no file of it changed"
    assert properties["test_speed[nets:slower-torchscript-b8-cpu]"] == {"ngraph_verdict": "unchanged"}
    assert "`nets:slower-identity-b8-cpu` (module)" in (pytester.path / "summary.md").read_text()
    data = json.loads((pytester.path / "summary.json").read_text())
    compared = {each["case"]["workload"]: each["compared"] for each in data["verdicts"] if each["compared"]}
    assert compared == {"nets:slower": "module", "nets:alike": "module"}


def test_a_change_of_the_input_values_alone_is_measured(pytester: pytest.Pytester, repository: Repository) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    import numpy as np
    import onnx_models as models

    onnx.save(models.linear(["N", 4]), repository.root / "net.onnx")
    np.savez(repository.root / "net.npz", x=np.ones((8, 4), np.float32))
    repository.write("test_it.py", TESTS.format(workloads='"net.onnx"', compilers='"identity"'))
    repository.commit("ones")
    gate(pytester)
    assert "same graph, weights and inputs" in (pytester.path / "summary.json").read_text()
    np.savez(repository.root / "net.npz", x=np.full((8, 4), 2, np.float32))
    _, properties = gate(pytester, "--ngraph-margin=25%")  # calls of microseconds, on a busy machine
    assert properties["test_speed[net.onnx-identity-b8-cpu]"]["ngraph_verdict"] in ("unchanged", "inconclusive")
    assert "same graph, weights and inputs" not in (pytester.path / "summary.json").read_text()


OPERATOR = """
import torch

@torch.library.custom_op("ngraph_trees::sine", mutates_args=())
def sine(x: torch.Tensor) -> torch.Tensor:
    return [torch.sin(x) for _ in range({calls})][0]

@sine.register_fake
def _(x):
    return torch.empty_like(x)

class Network(torch.nn.Module):
    def __init__(self, last):
        super().__init__()
        self.last = last

    def forward(self, x):
        return getattr(sine(x), self.last)()

def operator():
    return Network("relu"), torch.ones(8, 64)

def both():
    return Network("{last}"), torch.ones(8, 64)
"""


@pytest.mark.alone
def test_an_operator_of_ones_own_that_became_slower_is_seen_under_every_compiler(
    pytester: pytest.Pytester, repository: Repository
) -> None:
    """The graph of `operator` is unchanged, that of `both` is changed, too."""
    repository.write("nets.py", OPERATOR.format(calls=1, last="relu"))
    workloads = '"nets:operator", "nets:both"'
    repository.write("test_it.py", TESTS.format(workloads=workloads, compilers='"identity", "torchscript"'))
    repository.commit("quick")
    repository.write("nets.py", OPERATOR.format(calls=400, last="tanh"))
    _, properties = gate(pytester)
    assert {name: own["ngraph_verdict"] for name, own in properties.items()} == {
        "test_speed[nets:operator-identity-b8-cpu]": "regressed",
        "test_speed[nets:operator-torchscript-b8-cpu]": "regressed",
        "test_speed[nets:both-identity-b8-cpu]": "regressed",
        "test_speed[nets:both-torchscript-b8-cpu]": "regressed",
    }
