"""The tables of `tools/compile_cost.py`, of workers that answer at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import compile_cost
import pytest
from compile_cost import Prepare, Prepared

MODELS = ["a", "b", "c", "d"]


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the models that each worker has prepared. The second takes half as long, and one on all cores a third."""
    workers: list[list[str]] = []

    @contextmanager
    def worker(exported: Path, cores: Sequence[int] = (), cache: Path | None = None) -> Iterator[Prepare]:
        own: list[str] = []
        workers.append(own)
        memory_bytes = 2**20 * (2 if cache and any(cache.iterdir()) else 4)
        if cache:
            (cache / "entry").touch()

        def prepare(model: str, compiler: str) -> Prepared:
            own.append(model)
            seconds = (12.0 if len(own) == 1 else 6.0) / (1 if cores else 3)
            return Prepared(1.0, seconds, len(cores) or 2, memory_bytes)

        yield prepare

    monkeypatch.setattr(compile_cost, "worker", worker)
    return workers


def test_a_model_is_compiled_first_and_fourth(started: list[list[str]], tmp_path: Path) -> None:
    row = compile_cost.order(tmp_path, MODELS, ["tvm"], 2).splitlines()[-1]
    assert started == [["a"], ["b", "c", "d", "a"]] * 2
    assert row == "| `tvm` | 1.00 s | 1.00 s | 1.00 | 4.00 s | 2.00 s | 0.500 | 5.00 s | 3.00 s | 0.600 |"


def test_one_core_is_compared_with_all(started: list[list[str]], tmp_path: Path) -> None:
    *_, last, mean = compile_cost.inductor(tmp_path, ["a", "b"]).splitlines()
    assert started == [["a"], ["a"], ["b"], ["b"]]
    assert last == "| b | 1.00 s | 12.0 s | 4.00 s | 0.333 | 2 |"
    assert "0.333" in mean


def test_a_cold_cache_is_compared_with_a_warm_one(tmp_path: Path) -> None:
    row = compile_cost.memory(tmp_path, "a", ["tvm"]).splitlines()[-1]
    assert row == "| `tvm` | 4.00 MiB | 2.00 MiB | 0.500 |"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only=ordr"], "--only=ordr: there is no ordr. Choose of order,inductor,memory."),
        (["--models=a,b"], "--models=a,b: the order needs at least four models"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    options: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["compile_cost.py", *options])
    with pytest.raises(SystemExit):
        compile_cost.main()
    assert message in capsys.readouterr().err
