"""`pytest-ngraph tune`: its options, what it shows, and how it ends."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.cli import main, tune
from pytest_ngraph.cli.live import REWRITE, Live
from pytest_ngraph.record import Failure, Record
from pytest_ngraph.settings import Settings

TUNED = Record(
    case=Case(workload="conv", compiler="tvm", batch_size=1),
    outcome="measured",
    facts={"trials": "32", "kernels": "4 of 4 kernels scheduled, 2 of them tuned"},
)


class FakeBench:
    """Reports one step, then yields this record for each case, or raises."""

    result: Record | BaseException = TUNED
    cases: list[Case] = []  # noqa: RUF012 (of the class: the command makes the instance)

    def __init__(self, settings: Settings, target: Callable[[Case], object], progress: Live) -> None:
        self.progress = progress

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        self.cases.extend(cases)
        self.progress.doing(cases[0], "16 of 32 trials")
        if isinstance(self.result, BaseException):
            raise self.result
        yield self.result

    def close(self) -> None: ...


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> type[FakeBench]:
    pytest.importorskip("tvm")
    monkeypatch.setattr(tune, "Bench", FakeBench)
    monkeypatch.setattr(FakeBench, "cases", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    return FakeBench


def test_every_size_of_every_workload_is_tuned(bench: type[FakeBench], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "resnet18", "conv", "--batch-size=1,8", "--trials=32"]) == 0
    assert [(case.workload, case.batch_size) for case in bench.cases] == [
        ("resnet18", 1),
        ("resnet18", 8),
        ("conv", 1),
        ("conv", 8),
    ]
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "tvm:trials=32 resnet18-b1-cpu: 16 of 32 trials",
        "resnet18-b1-cpu: 32 trials done, 4 of 4 kernels scheduled, 2 of them tuned",
    ]
    assert lines[-1] == "To measure them: pytest --compiler=tvm,tvm:trials=32"


def test_sizes_of_ones_own_go_to_the_workloads_that_take_them(bench: type[FakeBench]) -> None:
    sizes = ["--size=seq_len=32,128", "--size=image=64"]
    assert main(["tune", "nets:net", "conv", *sizes, "--trials=32"]) == 0
    assert [(case.workload, dict(case.sizes)) for case in bench.cases] == [
        ("nets:net", {"image": 64, "seq_len": 32}),
        ("nets:net", {"image": 64, "seq_len": 128}),
        ("conv", {}),
    ]


@pytest.mark.parametrize(
    ("workload", "size", "said"),
    [
        (
            "conv",
            "seq_len=32",
            "--size seq_len: conv has no such axis. Only functions (package.module:function), hf:NAME",
        ),
        ("nets:net", "seq_len", "--size=seq_len: write an axis and its sizes, such as seq_len=32,128."),
        ("nets:net", "batch=3", "size 'batch': an argument of the mark has that name. Give batch_size=..."),
    ],
)
def test_a_size_that_no_workload_takes_is_refused(
    workload: str, size: str, said: str, bench: type[FakeBench], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", workload, f"--size={size}"]) != 0
    assert said in capsys.readouterr().err
    assert not bench.cases


@pytest.mark.parametrize(
    ("options", "compiler"),
    [([], "tvm:trials=1500"), (["--trials=64", "--patience=20"], "tvm:patience=20,trials=64")],
)
def test_it_compiles_what_a_measuring_run_asks_for(bench: type[FakeBench], options: list[str], compiler: str) -> None:
    main(["tune", "conv", "--depth=2", "--width=64", *options])
    assert bench.cases == [Case(workload="conv", compiler=compiler, batch_size=1, depth=2, width=64)]


def test_an_interrupt_is_one_line_that_says_how_to_continue(
    bench: type[FakeBench], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "result", KeyboardInterrupt())
    before = signal.getsignal(signal.SIGINT)
    assert main(["tune", "conv"]) == 130
    assert capsys.readouterr().out.splitlines()[-1] == (
        "interrupted: tvm:trials=1500 conv-b1-cpu: 16 of 32 trials. The same command continues from there."
    )
    assert signal.getsignal(signal.SIGINT) is before


def test_a_failure_is_printed_and_the_others_are_tuned(
    bench: type[FakeBench], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failure = Failure(phase="compile", kind="crashed", message="crashed with SIGSEGV", stderr_tail="its last words")
    monkeypatch.setattr(bench, "result", Record(case=TUNED.case, outcome="failed", failure=failure))
    assert main(["tune", "conv", "mha"]) == 1
    assert len(bench.cases) == 2
    assert "conv-b1-cpu: failed in compile: crashed with SIGSEGV\nits last words\n" in capsys.readouterr().out


def test_an_unknown_device_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "conv", "--device=xeno"]) == 2
    assert "unknown device 'xeno'. Did you mean 'xeon'?" in capsys.readouterr().err


def test_counts_start_at_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["tune", "conv", "--batch-size=1,0"])
    assert "'0' is not a whole number from 1 up" in capsys.readouterr().err


def test_on_a_terminal_one_line_is_rewritten(a_case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "39")
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    live = Live(terminal)
    live.doing(a_case, "16 of 32 trials")
    live.end("done")
    assert terminal.getvalue() == f"{REWRITE}identity resnet18-b8-cpu: 16 of 32 tri{REWRITE}done\n"


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["the command", "its worker"])
def test_a_killed_search_loses_nothing_and_repeats_nothing(tmp_path: Path, victim: str) -> None:
    pytest.importorskip("tvm")
    pytest.importorskip("xgboost")
    with Search(tmp_path) as first:
        first.wait_for_trials(18)  # fourteen set by rule, and some from the search
        processes = first.processes()
        (processes[0] if victim == "the command" else first.worker()).kill()
        first.popen.wait(timeout=60)
        killed_at = records(tmp_path)
        assert not psutil.wait_procs(processes, timeout=30)[1]
    with Search(tmp_path) as second:
        assert second.popen.wait(timeout=300) == 0
    done = records(tmp_path)
    assert done[: len(killed_at)] == killed_at
    assert max(Counter(done).values()) == 1
    searched = len(done) - len({kernel for kernel, _ in done})  # one of each kernel was set by rule
    assert searched == Search.trials
    with Search(tmp_path) as third:
        assert third.popen.wait(timeout=300) == 0
    assert records(tmp_path) == done


class Search:
    """`pytest-ngraph tune` in a process, on a small block, with its own cache folder."""

    trials = 24

    def __init__(self, folder: Path) -> None:
        arguments = ["mha", "--depth=1", "--width=16", f"--trials={self.trials}"]
        self._folder = folder
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "pytest_ngraph.cli", "tune", *arguments],
            env=os.environ | {"XDG_CACHE_HOME": str(folder)},
            stdout=subprocess.DEVNULL,
        )

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *_: object) -> None:
        self.popen.kill()
        self.popen.wait()

    def wait_for_trials(self, count: int) -> None:
        while len(records(self._folder)) < count:
            with pytest.raises(subprocess.TimeoutExpired):
                self.popen.wait(timeout=0.05)

    def processes(self) -> list[psutil.Process]:
        """Return the command's process and all that it started."""
        command = psutil.Process(self.popen.pid)
        return [command, *command.children(recursive=True)]

    def worker(self) -> psutil.Process:
        """Return the process that tunes: the only one that has started others."""
        return next(each for each in self.processes()[1:] if each.children())


def records(folder: Path) -> list[tuple[int, str]]:
    """Return kernel and trace of every whole line of the database."""
    text = "".join(path.read_text() for path in folder.glob("pytest-ngraph/tvm/*/*_record.json"))
    parsed: list[Any] = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return [(kernel, json.dumps(record[0])) for kernel, record in parsed]
