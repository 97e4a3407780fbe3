"""`pytest-ngraph advise`: a message for each mistake, and one real race."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from synthetic import case, measured

from pytest_ngraph import store
from pytest_ngraph.advise.measuring import Measuring
from pytest_ngraph.cli import main
from pytest_ngraph.cli.arguments import INTERRUPTED
from pytest_ngraph.record import Record
from pytest_ngraph.store import Journal

NET = """
import time

import torch
from deployable import Remembers

def net(batch_size):
    return torch.nn.Linear(8, 4), torch.ones(batch_size, 8)

class Faster(Remembers):
    def run(self):
        time.sleep(0.001)

class Slower(Remembers):
    def run(self):
        time.sleep(0.008)

def columns(outputs):
    return outputs[0].shape[1]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a network of its own; the working folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "advised_net.py").write_text(NET)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--p99=20parsecs"], "'20parsecs' is not a time above 0. Write it as 20ms, 2s or 5min."),
        (["--budget=0"], "'0' is not a time above 0"),
        (["--p99=20"], "'20' is not a time above 0. Write it as 20ms, 2s or 5min."),
        (["--max-memory=512"], "'512' is not a size. Write it as 8GiB, 512MiB or 1.5GB."),
        (["--max-error=-1"], "'-1' is not a number above 0."),
        (["--min-throughput=nan"], "'nan' is not a number above 0."),
        (["--batch-size=0"], "'0' is not a whole number from 1 up."),
        (["--threads=two"], "'two' is not a whole number from 1 up."),
        (["--precision=fp64"], "'fp64' is not a precision. Allowed: fp32, bf16, fp16."),
        (["--compiler=openvno"], "Did you mean 'openvino'?"),
        (["--compiler=openvino:streams=x"], "openvino:streams=x: 'x' is not allowed. Allowed: a whole number."),
        (["--device=xeno"], "unknown device 'xeno'. Did you mean 'xeon'?"),
        (["--threads=4096"], "device cpu@4096 needs 4096 cores"),
        (["--size", "seq_len=1,2"], "--size seq_len=1,2: advice is for one size. Give one of them."),
        (["--p99=1s", "--objective=throughput"], "--p99: with --objective=throughput, calls run side by side"),
        (["--score=scores:top1"], "score 'scores:top1': there is no package or module scores. It must be importable"),
        (["--score=accuracy"], "score 'accuracy' is not an import string. Write package.module:function."),
        (["--min-score=high"], "'high' is not a number."),
        (["--min-score=0.9"], "--min-score needs a function that scores the outputs: --score=package.module:function."),
        (["--resume=no-run"], "unknown run 'no-run'. --resume takes the next word for a run: write it behind the work"),
    ],
)
def test_a_mistake_gets_one_message(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        sys.exit(main(["advise", "advised_net:net", *arguments]))
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
    assert store.run_ids(project / ".ngraph") == []


def test_a_workload_that_is_not_there_is_found_before_anything_is_measured(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["advise", "advised_nets:net"]) == 2
    assert "workload 'advised_nets:net': there is no package or module advised_nets." in capsys.readouterr().err
    assert store.run_ids(project / ".ngraph") == []


def test_a_compiler_of_ones_own_is_found_in_the_working_folder(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(project)])
    (project / "beside_advise.py").write_text("from deployable import Remembers as Own\n")
    assert main(["advise", "no_nets:net", "--compiler=beside_advise:Own"]) == 2
    assert "workload 'no_nets:net': there is no package or module no_nets." in capsys.readouterr().err


def test_a_workload_is_found_where_pytest_imports_from(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "pyproject.toml").write_text("[tool.pytest.ini_options]\npythonpath = ['src']\n")
    (project / "src").mkdir()
    (project / "src" / "advised_beside.py").write_text(NET)
    assert main(["advise", "advised_beside:net", "--compiler=identity", "--score=no_scores:columns"]) == 2
    assert "score 'no_scores:columns': there is no package or module no_scores." in capsys.readouterr().err


def test_a_race_is_stored_and_resumed(
    project: Path,
    forked_workers: None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second time, what the first one measured stands. Which candidate is faster is clear on any machine."""
    monkeypatch.setattr("pytest_ngraph.bench.rounds.serving.LAUNCHES", 1)
    monkeypatch.setattr("pytest_ngraph.advise.race.FIRST_S", 0.05)
    monkeypatch.setattr("pytest_ngraph.advise.race.FINAL_ROUNDS", 0.0)
    monkeypatch.setattr("pytest_ngraph.advise.measuring.FEWEST_TAILS_S", 0.05)
    command = ["advise", "advised_net:net", "--compiler=advised_net:Faster,advised_net:Slower", "--batch-size=1,2"]
    command += ["--score=advised_net:columns", "--min-score=4"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (run,) = store.run_ids(project / ".ngraph")
    assert found["run"] == run
    assert found["pick"] == "advised_net:net-advised_net:Faster-b2-cpu"
    records = {record.case.id: record for record in store.read(project / ".ngraph", run).records}
    assert {each["case"] for each in found["candidates"]} <= set(records)
    assert records[found["pick"]].serving is not None
    assert {each["score"] for each in found["candidates"]} == {4.0}
    assert store.read(project / ".ngraph", run).whole
    measured = _measured_at(records)

    assert main([*command, f"--resume={run}"]) == 0
    shown = capsys.readouterr().out.splitlines()
    end = next(place for place, line in enumerate(shown) if line.startswith("  pytest-ngraph deploy"))
    sentence = " ".join(line.strip() for line in shown[:end])
    again = {record.case.id: record for record in store.read(project / ".ngraph", run).records}
    assert sentence.startswith("Deploy `")
    assert "score 4.00, " in sentence
    assert shown[end] == f"  pytest-ngraph deploy {run} --case {found['pick']} -o service"
    assert _measured_at(again) == measured, "nothing was measured again"


def test_what_was_interrupted_shows_the_command_that_goes_on(
    project: Path, forked_workers: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it: without its options, another question would be asked."""
    measure = Measuring.__call__

    def interrupted(self: Measuring, *asked: Any) -> None:
        measure(self, *asked)
        raise KeyboardInterrupt

    monkeypatch.setattr(Measuring, "__call__", interrupted)
    command = ["advise", "advised_net:net", "--compiler=identity", "--store", "my runs"]
    for is_new in (True, False):
        assert main([*command, "--resume=latest"]) == INTERRUPTED
        (run,) = store.run_ids(project / "my runs")
        printed = capsys.readouterr().err
        assert ("no race of advised_net:net in my runs is unfinished; a new one begins" in printed) == is_new
        shown = f"To resume: pytest-ngraph advise advised_net:net --compiler=identity --store 'my runs' --resume={run}"
        assert shown in printed


def test_what_was_interrupted_at_once_has_nothing_to_go_on_with(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Measuring, *asked: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Measuring, "__call__", interrupted)
    assert main(["advise", "advised_net:net", "--compiler=identity"]) == INTERRUPTED
    assert "interrupted. Nothing was measured so far." in capsys.readouterr().err


def test_a_killed_run_of_tests_is_left_as_it_is(
    project: Path, forked_workers: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A race that took it over would shorten its records and end it as whole."""
    monkeypatch.setattr("pytest_ngraph.bench.rounds.serving.LAUNCHES", 1)
    monkeypatch.setattr("pytest_ngraph.advise.race.FIRST_S", 0.05)
    monkeypatch.setattr("pytest_ngraph.advise.race.FINAL_ROUNDS", 0.0)
    monkeypatch.setattr("pytest_ngraph.advise.measuring.FEWEST_TAILS_S", 0.05)
    sweep = Journal(project / ".ngraph", {}, lambda: ["a", "b"])
    sweep.append(measured(case("tvm", 1), 0.1))
    sweep.close()
    before = (project / ".ngraph" / f"{sweep.id}.jsonl").read_bytes()
    command = ["advise", "advised_net:net", "--compiler=advised_net:Faster", "--batch-size=1"]
    assert main([*command, f"--resume={sweep.id}"]) == 2
    assert f"run {sweep.id} is a run of tests" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    assert len(store.run_ids(project / ".ngraph")) == 2
    assert (project / ".ngraph" / f"{sweep.id}.jsonl").read_bytes() == before
    assert store.unfinished(project / ".ngraph") == sweep.id


def _measured_at(records: dict[str, Record]) -> dict[str, float]:
    return {name: record.started_at for name, record in records.items()}
