"""`pytest-ngraph deploy`: from a stored run to a folder, and a message for each mistake."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import plain
import pytest
import served
from forking import TorchServer
from launched import costs
from synthetic import case, failed, measured

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.case import Case, Precision
from pytest_ngraph.cli import main
from pytest_ngraph.costs import COSTS
from pytest_ngraph.deploy.folder import Deployed
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.settings import Settings
from pytest_ngraph.store import Journal
from pytest_ngraph.system.files import compiled_folder

NET = """
import torch

def net(batch_size):
    return torch.nn.Linear(8, 4), torch.ones(batch_size, 8)
"""


@pytest.fixture(scope="module")
def project(torch_server: TorchServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a network of its own, measured under two compilers."""
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch, torch_server.used():
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setattr(sys, "path", [str(folder), *sys.path])
        patch.chdir(folder)
        (folder / "deployed_net.py").write_text(NET)
        sweep(folder, "deployed_net:net", "identity", "torchscript")
    return folder


@pytest.fixture
def swept(forked_workers: None, project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """That project, as it was measured; the working folder. What a test deploys into `out` is removed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "cache"))
    monkeypatch.setattr(sys, "path", [str(project), *sys.path])
    monkeypatch.chdir(project)
    (project / "deployed_net.py").write_text(NET)
    yield project
    shutil.rmtree(project / "out", ignore_errors=True)


@pytest.fixture
def forked_checks(torch_server: TorchServer) -> Iterator[None]:
    """Folders check themselves in processes that have PyTorch imported."""
    with served.soon_checked(torch_server):
        yield


def sweep(project: Path, workload: str, *under: str, precision: Precision = "fp32") -> None:
    settings = Settings(budget_s=0.01, warmup_s=0.01, min_rounds=6, cache=compiled_folder())
    cases = [Case(workload=workload, compiler=name, batch_size=2, precision=precision) for name in under]
    journal = Journal(project / ".ngraph", {"processor": "a processor", "python": "3.11.7", "architecture": "aarch64"})
    with closing(journal), closing(Bench(settings, BUILT_IN["cpu"].target)) as bench:
        for record in bench.run(cases):
            journal.append(record)


def test_a_case_becomes_a_folder_that_checks_itself(
    swept: Path, torch_server: TorchServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ngraph.bench.rounds.serving.LAUNCHES", 1)
    monkeypatch.setattr("pytest_ngraph.cli.deploy.WORTH_SAYING", 1e9)
    with served.soon_checked():
        assert main(["deploy", "--case", "torchscript", "-o", "out"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "deployed_net:net-torchscript-b2-cpu: out" in shown
    agrees = [line.startswith("  outputs agree with the reference: largest difference ") for line in shown]
    assert shown[agrees.index(True) + 1].endswith(" rounds")
    last = agrees.index(True) + 2 + len(COSTS)
    assert shown[last - 1].endswith(": what `requirements.txt` installs")
    assert "samples/s measured, 95 % interval" in shown[last]
    assert re.fullmatch(r"  serve.py is [\d.]+ times slower than that: .* calls of [\d.]+ us\. .*", shown[-1])
    names = {path.name for path in (swept / "out").iterdir()}
    assert names == {
        "README.md", "SHA256SUMS", "inputs.npz", "model.pt", "reference.npz", "requirements.txt", "serve.py",
    }  # fmt: skip
    (swept / "deployed_net.py").unlink()  # the folder stands alone
    assert served.check(swept / "out", server=torch_server).returncode == 0
    readme = (swept / "out" / "README.md").read_text()
    assert readme.startswith("# deployed_net:net at batch size 2, compiled by torchscript\n")
    assert "a processor" in readme
    assert "It was measured with Python 3.11.7 on aarch64; for others, " in readme
    assert "Measured in 1 launch, " in readme
    assert "| `model.pt` | the frozen TorchScript module |" in readme


def test_the_time_of_a_call_is_longer_where_others_run_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = Deployed(folder=tmp_path, checked="", per_s=1.0, streams=8, costs=costs())
    monkeypatch.setattr("pytest_ngraph.deploy.folder.deploy", lambda *_: done)
    monkeypatch.setattr("pytest_ngraph.deploy.choice.target_of", lambda *_: Target())
    with closing(Journal(tmp_path, {})) as journal:
        journal.append(measured(case("openvino", objective="throughput"), 0.01))
    assert main(["deploy", "--case=openvino", f"--store={tmp_path}", "-o", str(tmp_path / "out")]) == 0
    assert "but calls of 80.0 ms take longer: check again when the machine is not busy." in capsys.readouterr().out


def test_the_best_of_each_group_gets_a_folder(
    swept: Path, forked_checks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ngraph.deploy.folder.launch", lambda *_: [costs().launches])
    assert main(["deploy", "--best", "-o", "out"]) == 0
    (folder,) = (swept / "out").iterdir()
    assert folder.name in ("deployed_net_net-identity-b2-cpu", "deployed_net_net-torchscript-b2-cpu")


def test_what_pytest_found_beside_the_tests_is_deployed_and_explained(
    forked_workers: None, forked_checks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ngraph.deploy.folder.launch", lambda *_: [costs().launches])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tests := tmp_path / "tests").mkdir()
    (tests / "deployed_beside.py").write_text(NET)
    (tests / "deployed_own").mkdir()
    (tests / "deployed_own" / "traced.py").write_text("from pytest_ngraph.compilers.torchscript import TorchScript\n")
    with plain.importable(tests):
        sweep(tmp_path, "deployed_beside:net", "deployed_own.traced:TorchScript")
    for name in ("deployed_own", "deployed_own.traced"):
        monkeypatch.delitem(sys.modules, name)
    for command in (["deploy", "--case", "beside", "-o", "out"], ["explain", "beside"]):
        monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(tests)])
        assert main(command) == 0


def test_the_readme_has_the_types_that_are_answered(
    torch_server: TorchServer,
    forked_workers: None,
    forked_checks: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pytest_ngraph.deploy.folder.launch", lambda *_: [costs().launches])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "halved_net.py").write_text(NET)
    with plain.importable(tmp_path):
        sweep(tmp_path, "halved_net:net", "identity", precision="fp16")
        assert main(["deploy", "--case", "halved_net", "-o", "out"]) == 0
    assert served.answered(tmp_path / "out", torch_server) == "float16 (2, 4)\n"
    assert "| output | float16 | 2 x 4 |" in (tmp_path / "out" / "README.md").read_text()


def test_a_changed_source_is_refused_and_nothing_is_written(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (swept / "deployed_net.py").write_text(NET.replace("ones", "zeros"))
    assert main(["deploy", "--case", "torchscript", "-o", "out"]) == 2
    assert capsys.readouterr().err == (
        "pytest-ngraph: deployed_net:net-torchscript-b2-cpu is not what was measured: deployed_net.py changed. Measure "
        "it again with pytest, then deploy that run.\n"
    )
    assert not (swept / "out").exists()


def test_a_place_where_no_folder_can_be_is_one_message(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", "--case", "torchscript", "-o", "deployed_net.py/out"]) == 2
    said = "cannot write to deployed_net.py/out: File exists. Give another folder: -o DIR."
    assert said in capsys.readouterr().err


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Return the option `--store` for a store with a case that was measured and one that failed."""
    journal = Journal(tmp_path / "store", {})
    journal.append(measured(case("openvino"), 0.25))
    journal.append(failed(case("tvm")))
    return f"--store={tmp_path / 'store'}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--case=resnet18-openvno-b1-xeon"], "Nearest: resnet18-openvino-b1-xeon,"),
        (["--case=resnet18"], "'resnet18' is part of 2 cases"),
        (["--case=tvm"], "it is failed (compile: RuntimeError: no such operator"),
        (["--case=openvino"], "the record of resnet18-openvino-b1-xeon does not say from which graph it was compiled"),
        (["no-run", "--case=openvino"], "has no run 'no-run'"),
    ],
)
def test_mistakes_are_one_message(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["deploy", *arguments, store, "-o", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_in_it_is_left_alone(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    assert main(["deploy", "--case=openvino", store, "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"pytest-ngraph: {tmp_path / 'out'} is not empty. Give a new folder: -o DIR.\n"
    assert main(["deploy", "--case=openvino", store, "-o", str(tmp_path / "out" / "mine.txt")]) == 2
    assert "is a file. Give a new folder: -o DIR." in capsys.readouterr().err
