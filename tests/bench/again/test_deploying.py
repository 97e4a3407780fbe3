"""A compiler of one's own deployed by worker processes, and how that ends where something is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import served
from forking import TorchServer

from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.case import Case
from pytest_ngraph.deploy.folder import deploy
from pytest_ngraph.errors import NgraphError, UsageError
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings
from pytest_ngraph.store import Run

TARGET = BUILT_IN["cpu"].target
SETTINGS = Settings(budget_s=0.01, warmup_s=0.01, min_rounds=6)


@pytest.fixture(scope="module", autouse=True)
def forked(torch_server: TorchServer) -> Iterator[None]:
    with torch_server.used(), served.soon_checked():
        yield


@pytest.fixture(scope="module")
def record(forked: None) -> Record:
    with closing(Bench(SETTINGS, TARGET)) as bench:
        (record,) = bench.run([case("deployable:Remembers")])
    assert record.outcome == "measured", record
    return record


@pytest.fixture(autouse=True)
def _launched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.bench.rounds.serving.LAUNCHES", 1)


def case(compiler: str) -> Case:
    return Case(workload="mine:network", compiler=compiler, batch_size=2)


def deployed(record: Record, folder: Path, compiler: str = "", **changes: object) -> Path:
    """Deploy a record, as one of another compiler where one is given."""
    of = dataclasses.replace(record, **({"case": case(compiler)} if compiler else {}), **changes)  # type: ignore[arg-type]
    return deploy(of, Run(id="a-run", records=(of,)), TARGET(of.case), SETTINGS, folder, Silent()).folder


def test_a_compiler_of_ones_own(record: Record, tmp_path: Path) -> None:
    folder = deployed(record, tmp_path / "out")
    assert served.check(folder, "torch").returncode == 0
    assert "It computes nothing." in (folder / "README.md").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_empty_folder_may_be_the_current_one(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    assert deployed(record, Path()) == Path()
    assert served.check(Path.cwd()).returncode == 0


@pytest.mark.parametrize(
    ("compiler", "error", "message"),
    [
        ("mine:Exact", UsageError, "mine:Exact has no method deploy"),
        ("deployable:Refuses", UsageError, "cannot be deployed: it is for measuring only"),
        ("mine:Raises", NgraphError, "mine:network-mine:Raises-b2-cpu failed in compile: "),
        ("mine:Segfaults", NgraphError, "failed in compile: "),
        ("deployable:Lies", NgraphError, "fails its check, so it is not written: the outputs differ"),
        (
            "deployable:OnlyAsScript",
            NgraphError,
            "does not answer when it is imported, so it is not written: a process",
        ),
    ],
)
def test_what_goes_wrong_is_one_message_and_leaves_nothing(
    record: Record, tmp_path: Path, compiler: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        deployed(record, tmp_path / "out", compiler)
    assert message in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_another_graph_than_was_measured_is_refused(record: Record, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="its workload builds another graph, or other weights"):
        deployed(record, tmp_path / "out", follows_from=record.follows_from | {"graph": "another"})
    assert list(tmp_path.iterdir()) == []
