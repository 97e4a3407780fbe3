"""`pytest-ngraph explain`: from a stored run to modules, and a message for each mistake."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import explained
import pytest
from forking import TorchServer
from synthetic import case, measured

from pytest_ngraph.bench.again import probing
from pytest_ngraph.bench.rounds.arm import Arm
from pytest_ngraph.bench.rounds.preparer import Preparer
from pytest_ngraph.cli import main
from pytest_ngraph.store import Journal


@pytest.fixture(scope="module")
def swept(torch_server: TorchServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with a network of its own, measured under three compilers; the working folder."""
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch, torch_server.used():
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setattr(sys, "path", [str(folder), *sys.path])
        patch.chdir(folder)
        explained.measure(folder, ["identity", "onnxruntime", "openvino"])
        yield folder


def explain(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["explain", "--json", *arguments]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("compiler", ["identity", "onnxruntime", "openvino"])
def test_a_case_is_explained_by_its_modules(swept: Path, compiler: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = explain(capsys, compiler)
    assert found["cases"] == [f"explained_net:net-{compiler}-b1-cpu"]
    assert found["mapped"][0] >= 0.95
    modules = {row["name"].partition(".")[0] for row in found["rows"] if row["kind"] == "module"}
    assert modules <= {"stem", "blocks", "head"}
    assert bool(modules) == (found["coverage"][0] >= 0.8)


def test_two_cases_are_compared(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "identity", "openvino"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"only openvino fuses .*add\+relu \(2\)", shown)
    assert "of the time of a call was profiled" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_slow_layers_are_measured_at_widths_nearby(
    swept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "BUDGET_S", 0.01)
    monkeypatch.setattr(probing, "WARMUP_S", 0.01)
    held: dict[int, list[str]] = defaultdict(list)

    def prepare(self: Preparer, arm: Arm) -> None:
        prepare_as_ever(self, arm)
        assert arm._worker
        held[arm._worker.pid].append(arm.case.workload)

    prepare_as_ever = Preparer.prepare
    monkeypatch.setattr(Preparer, "prepare", prepare)
    widths = {each["modules"][0]: each for each in explain(capsys, "identity", "--probe")["widths"]}
    # A busy machine may give the head, of 20 features too, the 2 % of a call from which a layer is tried.
    found = widths["blocks.0.conv"]
    assert (found["modules"], found["width"]) == (["blocks.0.conv", "blocks.1.conv"], 20)
    assert [each["width"] for each in found["tried"]] == [16, 24]
    assert all(each["ratio"][0] > 0 for each in found["tried"])
    assert {len(models) for models in held.values()} == {1}, "a worker times the model that it has compiled last"


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store whose run was measured elsewhere."""
    with closing(Journal(tmp_path / "store", {"processor": "a processor"})) as journal:
        for of in (case("identity"), case("openvino"), case("openvino", batch_size=8)):
            journal.append(measured(of, 0.1))
    return str(tmp_path / "store")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["identity", "openvino-b1", "openvino-b8"], "explain was given 3 cases. Give one, or two to compare."),
        (
            ["identity", "openvino-b1", "--probe"],
            "--probe was given two cases. It measures the layers of one: give one",
        ),
        (["openvno"], "Nearest: resnet18-openvino-b"),
        (["openvino"], "'openvino' is part of 2 cases of run"),
        (["identity", "identity"], "both cases are resnet18-identity-b1-xeon. Give one, or two that differ"),
        (["identity", "openvino-b8"], "resnet18-identity-b1-xeon and resnet18-openvino-b8-xeon differ in more than"),
        (["identity"], "the record of resnet18-identity-b1-xeon does not say from which graph it was compiled"),
        (["identity", "--run=no-run"], "has no run 'no-run'"),
    ],
)
def test_a_mistake_gets_one_message(
    arguments: list[str], problem: str, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", f"--store={store}", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert problem in line


@pytest.mark.parametrize("depth", ["0", "-1", "deep"])
def test_a_depth_is_a_whole_number(depth: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explain", "identity", f"--depth={depth}"])
    assert f"{depth!r} is not a whole number from 1 up" in capsys.readouterr().err


def test_a_compiler_of_ones_own_is_found_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_explain.py").write_text("from deployable import Remembers as Own\n")
    with closing(Journal(tmp_path / ".ngraph", {})) as journal:
        journal.append(measured(case("beside_explain:Own", device="cpu"), 0.1))
    assert main(["explain", "Own"]) == 2
    assert "the record of resnet18-beside_explain:Own-b1-cpu does not say from which graph" in capsys.readouterr().err
