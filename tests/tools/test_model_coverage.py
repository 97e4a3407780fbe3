"""The parts of `tools/coverage.py`: what counts, what is run again, how processes end, and the tables."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import torch
from compiled import CPU
from forking import Script, TorchServer
from model_coverage import bare, entries, missing, ours, processes, tables
from model_coverage.entries import Entry
from model_coverage.processes import Finished, Limits
from model_coverage.results import Outcome, Result, Results, Side, without_folder

from pytest_ngraph import workloads
from pytest_ngraph.case import Case

BARE = Path(ours.__file__).with_name("bare.py")
LIMITS = Limits(timeout_s=600.0, memory_bytes=2**33)


def _result(model: str, side: Side, outcome: Outcome, reason: str = "", compiler: str = "tvm") -> Result:
    return Result(family="timm", model=model, compiler=compiler, side=side, outcome=outcome, reason=reason)


def _cells(page: str, compiler: str) -> list[str]:
    row = next(line for line in page.splitlines() if line.startswith(f"| {compiler} "))
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_only_what_the_bare_script_can_and_we_cannot_is_a_defect() -> None:
    results = [
        _result("a", "ours", "fails", "a breaks"),
        _result("a", "bare", "agrees"),
        _result("b", "ours", "skipped", "no operator x"),
        _result("b", "bare", "fails", "no operator x"),
        _result("c", "ours", "agrees"),
        _result("d", "ours", "stopped", "timed out after 9 s"),
        _result("d", "bare", "agrees"),
        _result("e", "ours", "fails", "not yet tried in a bare script"),
    ]
    page = tables.page(results, {"timm": 6, "onnx": 3})
    assert "5 of 6 models were tried." in page
    assert "| timm | models | run here | of the others, run in a bare script |" in page
    assert _cells(page, "tvm") == ["tvm", "4", "1", "2"]
    defects, rest = page.split("Stopped here at a limit of time or memory")
    stopped, others = rest.split("Runs in neither")
    assert "- tvm: MODEL breaks (a)" in defects
    assert "- tvm: timed out after N s (d)" in stopped
    assert "- tvm: no operator x (b)" in others
    assert "not yet tried" not in page
    assert "ONNX" not in page


def test_a_file_is_named_without_the_folder_of_this_machine() -> None:
    entry = Entry(family="onnx", name="a: net.onnx", workload="/home/me/net.onnx")
    found = replace(_result(entry.name, "ours", "skipped", "/home/me/net.onnx has no batch axis"), family="onnx")
    assert without_folder(found, entry).reason == "net.onnx has no batch axis"


def test_a_bare_run_of_all_models_has_a_column() -> None:
    found = [
        _result("a", "ours", "agrees"),
        _result("a", "bare", "fails"),
        _result("a", "bare", "agrees", "", "export"),
    ]
    page = tables.page(found, {"timm": 2})
    assert "| of the others, run in a bare script | all run in a bare script |" in page
    assert _cells(page, "tvm") == ["tvm", "1", "1", "0", "0"]


def test_a_model_that_runs_from_its_exported_program_was_exported() -> None:
    found = [
        _result("a", "ours", "agrees"),
        _result("b", "ours", "skipped", "torch.export refuses timm:b: an axis"),
        _result("b", "bare", "fails"),
        _result("b", "bare", "agrees", compiler="export"),
        _result("c", "ours", "agrees", compiler="inductor"),
        _result("c", "bare", "fails", compiler="export"),
        _result("d", "ours", "skipped", "TVM cannot import the program: no rule for histc"),
        _result("d", "bare", "fails", "no rule for histc"),
        _result("d", "bare", "agrees", compiler="export"),
    ]
    page = tables.page(found, {"timm": 4})
    assert _cells(page, "export") == ["export", "4", "2", "1"]
    assert "- export: torch.export refuses the model: an axis (b)" in page
    assert "(d)" not in page.partition("Runs in neither")[0], "what was exported is no defect of exporting"


def test_it_is_said_how_many_models_were_tried_under_every_compiler() -> None:
    found = [_result("a", "ours", "agrees"), _result("a", "ours", "agrees", compiler="openvino")]
    assert "1 of 2 models were tried.\n" in tables.page(found, {"timm": 2})
    found += [_result("b", "ours", "stopped", "timed out after 9 s")]
    page = tables.page(found, {"timm": 2})
    assert "2 of 2 models were tried, 1 of them under every compiler.\n" in page
    assert "- tvm: timed out after N s (b)" in page, "also what no bare script has tried yet"


@pytest.mark.parametrize(
    ("agree", "bare_all", "others"),
    [
        (["identity", "inductor", "tvm"], False, []),
        (["identity", "inductor"], False, ["tvm", "export"]),
        (["identity"], False, ["inductor", "tvm", "export"]),
        (["identity", "tvm"], False, ["inductor"]),
        (["identity", "inductor", "tvm"], True, ["identity", "inductor", "tvm", "export"]),
    ],
)
def test_only_what_does_not_run_here_runs_in_a_bare_script(
    agree: list[str], bare_all: bool, others: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compilers = ["identity", "inductor", "tvm"]
    here = [_result("a", "ours", "agrees" if name in agree else "fails", "", name) for name in compilers]
    monkeypatch.setattr(ours, "run", lambda *_: iter(here))
    monkeypatch.setattr(missing, "_bare", lambda entry, name, _: _result("a", "bare", "fails", "", name))
    results = Results(tmp_path)
    entry = Entry(family="timm", name="a", workload="a")
    ran = []
    for result in missing.run_missing(entry, compilers, results, LIMITS, bare_all=bare_all):
        results.add(result)
        ran.append((result.compiler, result.side))
    assert ran == [(name, "ours") for name in compilers] + [(name, "bare") for name in others]
    assert not list(missing.run_missing(entry, compilers, results, LIMITS, bare_all=bare_all))


def test_equal_reasons_are_one_line() -> None:
    results = [_result(f"m{n}", "ours", "fails", f"m{n}: shape {n} at 0x7f{n}") for n in range(8)]
    page = tables.page(results + [_result(f"m{n}", "bare", "fails") for n in range(8)], {"timm": 8})
    assert "- tvm: MODEL: shape N at N (m0, m1, m2, m3, m4, m5 and 2 more)" in page


def test_results_are_kept_in_a_line_for_each_model(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    Results(path).add(_result("a", "ours", "stopped"))
    Results(path).add(_result("a", "ours", "agrees"))
    Results(path).add(_result("b", "ours", "stopped"))
    assert (path / "timm.jsonl").read_text().count("\n") == 2
    read = Results(path)
    assert read.has("timm", "a", "tvm", "ours")
    assert not read.has("timm", "a", "tvm", "bare")
    assert [result.outcome for result in read.all()] == ["agrees", "stopped"]
    again = Results(path, again=["stopped"])
    assert [again.has("timm", name, "tvm", "ours") for name in "ab"] == [True, False]
    again.add(_result("b", "ours", "stopped"))
    assert again.has("timm", "b", "tvm", "ours")


@pytest.mark.parametrize(
    ("program", "limits", "problem", "at_limit"),
    [
        ("print('done')", LIMITS, "", False),
        ("import time; time.sleep(60)", replace(LIMITS, timeout_s=1.0), "timed out after 1 s", True),
        (
            "import time; kept = bytearray(2**28); time.sleep(60)",
            replace(LIMITS, memory_bytes=2**27),
            "took more than 0 GiB",
            True,
        ),
        ("import os; os.abort()", LIMITS, "crashed (SIGABRT)", False),
    ],
    ids=["ends", "hangs", "grows", "crashes"],
)
def test_a_process_ends_at_its_limits(
    program: str, limits: Limits, problem: str, at_limit: bool, tmp_path: Path
) -> None:
    finished = processes.run([sys.executable, "-c", program], "", tmp_path, limits)
    assert (finished.problem, finished.at_limit) == (problem, at_limit)
    assert finished.output == ("done\n" if not problem else "")


def test_commands_that_run_side_by_side_share_no_lock_and_no_core(tmp_path: Path) -> None:
    program = "import os, tempfile; print(tempfile.gettempdir(), os.environ['OMP_NUM_THREADS'])"
    finished = processes.run([sys.executable, "-c", program], "", tmp_path, LIMITS)
    assert finished.output.split() == [str(tmp_path / "tmp"), "1"]


def test_an_interrupted_run_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "interrupted", threading.Event())
    processes.interrupted.set()
    program = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with pytest.raises(KeyboardInterrupt):
        processes.run([sys.executable, "-c", program], "", tmp_path, LIMITS)
    started = (tmp_path / "stdout").read_text()
    assert not started or not psutil.pid_exists(int(started))


def test_compilers_run_apart_if_together_they_give_no_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(entry: Entry, compilers: list[str], *_: object) -> object:
        together = len(compilers) > 1
        stops = together or compilers == ["tvm"]
        found = {} if stops else {compilers[0]: ("agrees", "")}
        return found, Finished("", "", "timed out after 9 s" * stops, stops, 1.0)

    monkeypatch.setattr(ours, "_pytest", run)
    found = ours.run(Entry(family="timm", name="a", workload="a"), ["identity", "tvm"], tmp_path, LIMITS)
    assert [(each.compiler, each.outcome) for each in found] == [("identity", "agrees"), ("tvm", "stopped")]


def test_a_worker_that_is_ended_at_its_limit_was_stopped(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    messages = ["tvm timed out in compile: took longer", "tvm out of memory in compile: std::bad_alloc"]
    outcomes = []
    for message in messages:
        report.write_text(f'<t><testcase name="test_model[a-tvm-b1]"><failure message="{message}"/></testcase></t>')
        outcomes.append(ours._outcomes(report)["tvm"])
    assert outcomes == [("stopped", messages[0]), ("fails", messages[1])]


@pytest.fixture
def here(forked_workers: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pytest of a model runs in this process, with forked workers."""

    def run(command: list[str], given: str, folder: Path, _: Limits) -> Finished:
        assert command[:3] == [sys.executable, "-m", "pytest"]
        assert not given
        monkeypatch.chdir(folder)
        ran = pytester.runpytest_inprocess(*command[3:])
        return Finished(str(ran.stdout), str(ran.stderr), "", False, ran.duration)

    monkeypatch.setattr(processes, "run", run)


def test_a_model_runs_here_and_in_a_bare_script(here: None, torch_server: TorchServer, tmp_path: Path) -> None:
    pytest.importorskip("timm")
    entry = Entry(family="timm", name="test_vit", workload="test_vit")
    found = list(ours.run(entry, ["identity", "torchscript"], tmp_path, LIMITS))
    assert [(each.compiler, each.outcome, each.reason) for each in found] == [
        ("identity", "agrees", ""),
        ("torchscript", "agrees", ""),
    ]
    given = f"import io, runpy, sys\nsys.stdin = io.StringIO({entry.to_json()!r})\n"
    code = f"{given}runpy.run_path({str(BARE)!r}, run_name='__main__')\n"
    bare = torch_server.run(Script(code, ("torchscript",), without=("pytest_ngraph",)), CPU.cores)
    assert json.loads(bare.stdout.splitlines()[-1]) == {"outcome": "agrees", "stage": "", "reason": ""}


def test_a_bare_script_has_the_weights_that_run_here() -> None:
    """With others, detectors find nothing, and nothing agrees with nothing."""
    pytest.importorskip("torchvision")
    name = "ssdlite320_mobilenet_v3_large"
    entry = Entry(family="torchvision", name=name, workload=f"torchvision:{name}")
    model, args, _ = bare.make(json.loads(entry.to_json()))
    ours = workloads.build(Case(workload=entry.workload, compiler="identity", batch_size=1))
    with torch.no_grad():
        assert bare.worst(bare.tensors(model(*args)), bare.tensors(ours.module(*ours.args))) == 0
        assert len(model(*args)[0]["boxes"])


def test_a_bare_script_does_not_agree_about_nothing() -> None:
    with pytest.raises(AssertionError, match="its outputs have no values that could agree"):
        bare.run_module(torch.nn.Identity(), (torch.ones(0, 4),), {}, "identity")


def test_a_bare_script_compares_what_a_detector_finds_as_a_set() -> None:
    boxes = torch.arange(12.0).reshape(3, 4)
    returned = [{"boxes": boxes, "scores": torch.tensor([0.5, 0.4, 0.3])}]
    order = [1, 0, 2]
    found = [each[order].numpy() for each in returned[0].values()]
    assert bare.as_sets(found, returned) == 0
    assert bare.as_sets([found[0] + 1, found[1]], returned) > bare.TOLERANCE


def test_a_model_that_cannot_be_built_fails_with_its_message(here: None, tmp_path: Path) -> None:
    pytest.importorskip("timm")
    entry = Entry(family="timm", name="no_such", workload="no_such_model")
    (found,) = ours.run(entry, ["identity"], tmp_path, LIMITS)
    assert found.outcome == "fails"
    assert "unknown timm model 'no_such_model'" in found.reason


@pytest.mark.parametrize(
    ("lengths", "shape"),
    [
        ([None, None], ["batch", 512]),
        ([2, None, 128], [2, "batch", 128]),
        ([None, 3, None, None], ["batch", 3, 320, 320]),
    ],
)
def test_open_axes_of_onnx_files_get_sizes(lengths: list[int | None], shape: list[int | str]) -> None:
    assert entries._filled(lengths) == shape
