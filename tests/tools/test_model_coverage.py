"""The parts of `tools/coverage.py`: what counts, what is run again, how processes end, and the tables."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from model_coverage import entries, ours, processes, tables
from model_coverage.entries import Entry
from model_coverage.results import Outcome, Result, Results, Side

BARE = Path(ours.__file__).with_name("bare.py")


def _result(model: str, side: Side, outcome: Outcome, reason: str = "", compiler: str = "tvm") -> Result:
    return Result(family="timm", model=model, compiler=compiler, side=side, outcome=outcome, reason=reason)


def test_only_what_the_bare_script_can_and_we_cannot_is_a_defect() -> None:
    results = [
        _result("a", "ours", "fails", "a breaks"),
        _result("a", "bare", "agrees"),
        _result("b", "ours", "skipped", "no operator x"),
        _result("b", "bare", "fails", "no operator x"),
        _result("c", "ours", "agrees"),
        _result("c", "bare", "fails"),
    ]
    page = tables.page(results, {"timm": 5, "onnx": 3})
    assert "3 of 5 models were tried." in page
    row = next(line for line in page.splitlines() if line.startswith("| tvm"))
    assert [cell.strip() for cell in row.strip("|").split("|")] == ["tvm", "3", "1", "1", "1", "1"]
    defects, others = page.split("Runs in neither")
    assert "- tvm: MODEL breaks (a)" in defects
    assert "- tvm: no operator x (b)" in others
    assert "ONNX" not in page


def test_exporting_alone_has_no_column_of_ours() -> None:
    found = [_result("a", "bare", "agrees", compiler="export"), _result("b", "bare", "fails", compiler="export")]
    row = next(line for line in tables.page(found, {"timm": 2}).splitlines() if line.startswith("| export"))
    assert [cell.strip() for cell in row.strip("|").split("|")] == ["export", "2", "-", "1", "-", "-"]


def test_equal_reasons_are_one_line() -> None:
    results = [_result(f"m{n}", "ours", "fails", f"m{n}: shape {n} at 0x7f{n}") for n in range(8)]
    page = tables.page(results, {"timm": 8})
    assert "- tvm: MODEL: shape N at N (m0, m1, m2, m3, m4, m5 and 2 more)" in page


def test_results_are_kept_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    Results(path).add(_result("a", "ours", "fails"))
    Results(path).add(_result("a", "ours", "agrees"))
    read = Results(path)
    assert ("timm", "a", "tvm", "ours") in read
    assert ("timm", "a", "tvm", "bare") not in read
    assert [result.outcome for result in read.all()] == ["agrees"]


@pytest.mark.parametrize(
    ("program", "limits", "problem"),
    [
        ("print('done')", {}, ""),
        ("import time; time.sleep(60)", {"timeout_s": 1.0}, "took more than 1 s"),
        ("kept = bytearray(2**28); import time; time.sleep(60)", {"memory_bytes": 2**27}, "took more than 0 GiB"),
        ("import os; os.abort()", {}, "crashed (SIGABRT)"),
    ],
    ids=["ends", "hangs", "grows", "crashes"],
)
def test_a_process_ends_at_its_limits(program: str, limits: dict[str, float], problem: str, tmp_path: Path) -> None:
    given = {"timeout_s": 60.0, "memory_bytes": 2**33} | limits
    finished = processes.run([sys.executable, "-c", program], folder=tmp_path, **given)  # type: ignore[arg-type]
    assert finished.problem == problem
    assert finished.output == ("done\n" if not problem else "")


def test_a_model_runs_here_and_in_a_bare_script(tmp_path: Path) -> None:
    pytest.importorskip("timm")
    entry = Entry(family="timm", name="test_vit", workload="test_vit")
    found = list(ours.run(entry, ["identity", "torchscript"], tmp_path, 600, 2**33))
    assert [(each.compiler, each.outcome, each.reason) for each in found] == [
        ("identity", "agrees", ""),
        ("torchscript", "agrees", ""),
    ]
    bare = subprocess.run(
        [sys.executable, BARE, "torchscript"], input=entry.to_json(), capture_output=True, text=True, check=True
    )
    assert json.loads(bare.stdout.splitlines()[-1]) == {"outcome": "agrees", "stage": "", "reason": ""}


def test_a_model_that_cannot_be_built_fails_with_its_message(tmp_path: Path) -> None:
    pytest.importorskip("timm")
    entry = Entry(family="timm", name="no_such", workload="no_such_model")
    (found,) = ours.run(entry, ["identity"], tmp_path, 600, 2**33)
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
