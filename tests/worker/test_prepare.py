"""Compiling with and without the cache, with a compiler that counts its calls."""

from __future__ import annotations

import dataclasses
import os
import stat
import sys
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Array, Artifact, Kind, Target, save_arrays
from pytest_ngraph.case import Case
from pytest_ngraph.clock import WallStopwatch
from pytest_ngraph.record import DRAWN, HIDDEN, RANDOM, STATE, Agreement
from pytest_ngraph.worker.cache import Cache
from pytest_ngraph.worker.prepare import Prepared, prepare
from pytest_ngraph.worker.worker import Worker

pytestmark = pytest.mark.usefixtures("_frozen")


class Doubling:
    concurrency = 1
    stopwatch = WallStopwatch()
    facts: ClassVar[dict[str, str]] = {}

    def __init__(self, values: Array) -> None:
        self._values = values

    def __call__(self) -> object:
        return self._values * 2

    def outputs(self) -> list[Array]:
        return [self._values * 2]

    def close(self) -> None: ...


@dataclasses.dataclass
class Counting:
    libraries: ClassVar[tuple[str, ...]] = ("json",)
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu",)
    compiled: int = 0
    loads: bool = True
    right: bool = True
    needs: str = ""

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        self.compiled += 1
        (folder / "scale").write_text("1" if self.right else "3")

    def load(self, artifact: Artifact, target: Target, folder: Path) -> Doubling:
        if not self.loads:
            self.loads = True
            raise RuntimeError("made for another version")
        if self.needs and self.needs not in sys.modules:
            raise RuntimeError(f"no operator of {self.needs}")
        return Doubling(artifact.inputs()[0] * float((folder / "scale").read_text()))


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Counting:
    counting = Counting()
    monkeypatch.setattr(compilers, "resolve", lambda text: counting)
    return counting


def run(
    tmp_path: Path,
    cache: Cache | None,
    digest: str = "d",
    compiler: str = "counting",
    *,
    refused: str = "",
    data_dependent: tuple[str, ...] = (),
    values_decide: bool = False,
    is_onnx: bool = False,
    length: int = 3,
    value: float = 1.0,
    sizes: tuple[tuple[str, int], ...] = (),
    operators: tuple[str, ...] = (),
) -> tuple[Prepared, Agreement]:
    folder = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
    folder.mkdir()
    inputs_digest = save_arrays(folder / "inputs.npz", [np.full((2, length), value)])
    save_arrays(folder / "reference.npz", [np.full((2, length), 2 * value)])
    case = Case(workload="w", compiler=compiler, batch_size=2, sizes=sizes)
    artifact = Artifact(
        folder=folder,
        case=case,
        digest=digest,
        inputs_digest=inputs_digest,
        export_error=refused,
        data_dependent=data_dependent,
        operators=operators,
        values_decide=values_decide,
        onnx=folder / "model.onnx" if is_onnx else None,
    )
    ticks = count()
    work = folder / "work"
    work.mkdir()
    ready = prepare(case, artifact, Target(), work, cache, clock=lambda: float(next(ticks)))
    return ready, ready.verify()


def test_without_a_cache_it_compiles(compiler: Counting, tmp_path: Path) -> None:
    ready, agreement = run(tmp_path, None)
    assert (ready.cold_start.compile_s, ready.load_s, ready.cached_at) == (2.0, 1.0, None)
    assert agreement.agrees


def test_a_second_time_it_is_taken_and_the_time_of_the_cold_start_stays(compiler: Counting, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    run(tmp_path, cache)
    (entry,) = cache.entries()
    again, agreement = run(tmp_path, cache)
    assert compiler.compiled == 1
    assert again.cold_start == entry.cold_start
    assert again.cached_at == entry.made_at
    assert agreement.agrees


def test_another_graph_is_compiled(compiler: Counting, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    run(tmp_path, cache, digest="d")
    run(tmp_path, cache, digest="e")
    assert compiler.compiled == 2


@pytest.mark.parametrize("other", [{"length": 5}, {"sizes": (("steps", 5),)}], ids=["inputs", "sizes"])
def test_a_module_without_a_program_is_compiled_for_each_size(
    other: dict[str, Any], compiler: Counting, tmp_path: Path
) -> None:
    """Its digest shows neither the inputs nor how often it runs a loop, which a trace repeats."""
    cache = Cache(tmp_path / "cache")
    run(tmp_path, cache, refused="it branches", sizes=(("steps", 3),))
    run(tmp_path, cache, refused="it branches", **{"sizes": (("steps", 3),), **other})
    assert compiler.compiled == 2
    run(tmp_path, cache, refused="it branches", sizes=(("steps", 3),))
    assert compiler.compiled == 2


@pytest.mark.parametrize(
    "depends", [{"data_dependent": ("output",)}, {"values_decide": True}], ids=["output", "inside"]
)
def test_a_program_whose_sizes_depend_on_values_is_compiled_for_each_input(
    depends: dict[str, Any], compiler: Counting, tmp_path: Path
) -> None:
    """A trace of it holds the sizes that these values have given."""
    cache = Cache(tmp_path / "cache")
    for value, compiled in ((1.0, 1), (3.0, 2), (1.0, 2)):
        run(tmp_path, cache, **depends, value=value)
        assert compiler.compiled == compiled


def test_a_module_is_compiled_for_each_input_also_where_there_is_a_program(
    compiler: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path / "cache")
    for value in (1.0, 3.0):
        run(tmp_path, cache, value=value)
    assert compiler.compiled == 1
    monkeypatch.setattr(compilers, "runs_module", lambda text, artifact: True)
    for value in (1.0, 3.0):
        run(tmp_path, cache, value=value)
    assert compiler.compiled == 3


def test_an_onnx_file_is_compiled_for_each_size(compiler: Counting, tmp_path: Path) -> None:
    """One whose branches fit only some sizes keeps its axes open, so that its digest shows none."""
    cache = Cache(tmp_path / "cache")
    for length in (3, 5, 3):
        run(tmp_path, cache, is_onnx=True, length=length)
    assert compiler.compiled == 2


def test_an_entry_that_no_longer_loads_is_compiled_again(compiler: Counting, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    run(tmp_path, cache)
    compiler.loads = False
    again, agreement = run(tmp_path, cache)
    assert compiler.compiled == 2
    assert again.cached_at is None
    assert agreement.agrees


def test_an_entry_that_needs_an_operator_of_ones_own_is_loaded_in_another_process(
    compiler: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else imports the module that registers it there."""
    (tmp_path / "registers_sine.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    cache = Cache(tmp_path / "cache")
    run(tmp_path, cache, operators=("registers_sine",))
    compiler.needs = "registers_sine"
    again, _ = run(tmp_path, cache, operators=("registers_sine",))
    assert sys.modules.pop("registers_sine", None)
    assert compiler.compiled == 1
    assert again.cached_at is not None


def test_what_is_compiled_again_is_trusted_whatever_the_umask(compiler: Counting, tmp_path: Path) -> None:
    """Nobody else may write to an entry; with a group of one's own, as on Debian, the umask allows it."""
    cache = Cache(tmp_path / "cache")
    before = os.umask(0o002)
    try:
        run(tmp_path, cache)
        compiler.loads = False
        run(tmp_path, cache)
        again, _ = run(tmp_path, cache)
    finally:
        os.umask(before)
    assert again.cached_at is not None
    assert compiler.compiled == 2
    (entry,) = cache.entries()
    assert stat.S_IMODE(entry.folder.stat().st_mode) == 0o700


def test_what_disagrees_is_not_kept(compiler: Counting, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    compiler.right = False
    _, agreement = run(tmp_path, cache)
    assert not agreement.agrees
    assert cache.entries() == []


def test_what_was_kept_and_disagrees_now_is_compiled_again(compiler: Counting, tmp_path: Path) -> None:
    """It may hold what the values of other inputs decided."""
    cache = Cache(tmp_path / "cache")
    run(tmp_path, cache)
    _make_wrong(cache)
    again, agreement = run(tmp_path, cache)
    assert again.cached_at is not None
    assert not agreement.agrees
    assert cache.entries() == []
    again, agreement = run(tmp_path, cache)
    assert again.cached_at is None
    assert agreement.agrees


def _make_wrong(cache: Cache) -> None:
    """Replace what the only entry of a cache holds by a model that is wrong."""
    (entry,) = cache.entries()
    wrong = entry.folder.parent.parent / "wrong"
    wrong.mkdir()
    (wrong / "scale").write_text("3")
    cache.keep(entry.inputs, wrong, entry.cold_start)


def test_a_worker_compiles_again_at_once_what_was_kept_and_disagrees_now(compiler: Counting, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    ready, _ = run(tmp_path, cache)
    _make_wrong(cache)
    worker = Worker(announce=lambda phase: None)
    answer = worker.prepare(
        case=ready.artifact.case.to_dict(),
        artifact=ready.artifact.to_dict(),
        target=ready.target.to_dict(),
        warmup_s=0.0,
        round_s=1e-6,
        cache={"folder": str(cache.folder)},
    )
    worker.close()
    assert answer["agreement"]["problem"] == ""
    assert (answer["cached_at"], compiler.compiled) == (None, 2)
    assert cache.entries() == []


def test_the_record_says_what_hides(compiler: Counting, tmp_path: Path) -> None:
    ready, _ = run(tmp_path, None)
    assert ready.facts == {}
    artifact = dataclasses.replace(ready.artifact, hidden=("scale", "gate"), random=("output[0]",))
    assert dataclasses.replace(ready, artifact=artifact).facts == {HIDDEN: "scale, gate", RANDOM: "output[0]"}


def test_the_record_says_what_the_outputs_depend_on_beside_the_inputs(compiler: Counting, tmp_path: Path) -> None:
    ready, _ = run(tmp_path, None)
    artifact = dataclasses.replace(ready.artifact, state=("cache[0]", "calls"), written=("calls",))
    assert dataclasses.replace(ready, artifact=artifact).facts == {STATE: "cache[0], calls"}


def test_the_record_says_what_inputs_were_drawn_as(compiler: Counting, tmp_path: Path) -> None:
    ready, _ = run(tmp_path, None)
    drawn = {"ids": "ids below 50 (index words)", "mask": "a mask, mostly ones"}
    artifact = dataclasses.replace(ready.artifact, drawn=drawn)
    said = "ids: ids below 50 (index words); mask: a mask, mostly ones"
    assert dataclasses.replace(ready, artifact=artifact).facts == {DRAWN: said}


def test_identity_has_no_compile_time_and_is_not_kept(compiler: Counting, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    ready, _ = run(tmp_path, cache, compiler="identity")
    assert ready.cold_start == (None, None, None)
    assert cache.entries() == []
