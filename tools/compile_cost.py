"""Measure what compiling costs, cold: whether it depends on what came before, how far Inductor uses the cores, memory.

    python tools/compile_cost.py [--models=NAME,...] [--compilers=NAME,...] [--only=order,inductor,memory] [--repeats=N]

- order: the first model, compiled first in a worker, and fourth in another; medians of several such pairs.
- inductor: each model compiled by Inductor on one core, and on all. On one core its builds run one after another.
- memory: the peak of a worker that compiles the first model, and of one that takes it from the cache.

Each compile is in a worker of its own as the bench starts it, without a cache unless it is about that. At least four
models are needed for the order.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any
from unittest import mock

import markdown_output

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.processes import worker_variables
from pytest_ngraph.bench.processes.process import WorkerProcess
from pytest_ngraph.case import Case
from pytest_ngraph.machine.machine import environment, this_machine
from pytest_ngraph.metrics.text import number, quantity

MODELS = "resnet18,deit3_small_patch16_224,convnext_tiny,efficientnet_b3"
COMPILERS = "torchscript,inductor,onnxruntime,openvino,tvm,executorch"
PARTS = "order,inductor,memory"
STEPS = ("convert_s", "compile_s")
TIMEOUT_S = 1800.0
CACHE_BYTES = 10 * 2**30


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a worker answered of one case.

    Attributes:
        convert_s: as in a record, like `compile_s` and `compile_cores`.
        memory_bytes: `worker_memory_bytes` of a record.
    """

    convert_s: float
    compile_s: float
    compile_cores: int
    memory_bytes: int


Prepare = Callable[[str, str], Prepared]
"""Prepares a model, by name, under a compiler."""


@contextmanager
def worker(exported: Path, cores: Sequence[int] = (), cache: Path | None = None) -> Iterator[Prepare]:
    """Start a worker that compiles on these cores; on all where none is given."""
    target = Target(cores=this_machine().cores)
    with ExitStack() as stack:
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ngraph-cost-")))
        if cores:
            stack.enter_context(mock.patch.object(worker_variables, "to_compile_on", return_value=tuple(cores)))
        process = WorkerProcess(cores=target.cores, temporary=temporary)
        stack.callback(process.close)
        kept = {"folder": str(cache), "limit_bytes": CACHE_BYTES} if cache else None

        def prepare(model: str, compiler: str) -> Prepared:
            case = Case(workload=model, compiler=compiler, batch_size=1)
            answer = process.request(
                "prepare",
                timeout_s=TIMEOUT_S,
                case=case.to_dict(),
                artifact=_artifact(exported / model, case),
                target=target.to_dict(),
                warmup_s=0.5,
                round_s=0.1,
                cache=kept,
            )
            peaks = process.request("release", timeout_s=TIMEOUT_S, kind="cpu")
            times = {name: answer[name] for name in ("convert_s", "compile_s", "compile_cores")}
            return Prepared(**times, memory_bytes=peaks["worker_memory_bytes"])

        yield prepare


def _artifact(folder: Path, case: Case) -> dict[str, Any]:
    """Return the exported model, exported the first time that it is asked for."""
    if not folder.exists():
        folder.mkdir(parents=True)
        process = WorkerProcess(cores=this_machine().cores, temporary=folder.parent, bound=False)
        try:
            _EXPORTED[folder] = process.request("export", timeout_s=TIMEOUT_S, case=case.to_dict(), folder=str(folder))
        finally:
            process.close()
    return _EXPORTED[folder]


_EXPORTED: dict[Path, dict[str, Any]] = {}


def order(exported: Path, models: Sequence[str], names: Sequence[str], repeats: int) -> str:
    """Return the seconds of the first model, compiled first and fourth, as medians of so many pairs of workers."""
    rows = []
    for compiler in names:
        first, fourth = [], []
        for _ in range(repeats):
            with worker(exported) as prepare:
                first.append(prepare(models[0], compiler))
            with worker(exported) as prepare:
                fourth.append([prepare(model, compiler) for model in (*models[1:4], models[0])][-1])
        pairs = [[median(getattr(one, step) for one in side) for side in (first, fourth)] for step in STEPS]
        pairs.append([sum(side) for side in zip(*pairs, strict=True)])
        rows.append([f"`{compiler}`", *(cell for pair in pairs for cell in _compared(*pair))])
    heads = [f"{step}{what}" for step in ("convert", "compile", "both") for what in (", first", ", fourth", ", ratio")]
    return markdown_output.table(["compiler", *heads], rows)


def inductor(exported: Path, models: Sequence[str]) -> str:
    """Return the seconds that Inductor takes on one core and on all, and the geometric mean of their ratios."""
    rows, ratios = [], []
    for model in models:
        times = []
        for cores in (this_machine().cores[:1], ()):
            with worker(exported, cores) as prepare:
                times.append(prepare(model, "inductor"))
        one, every = times
        ratios.append(every.compile_s / one.compile_s)
        cells = _compared(one.compile_s, every.compile_s)
        rows.append([model, quantity(every.convert_s, "s"), *cells, str(every.compile_cores)])
    rows.append(["geometric mean", "", "", "", number(geometric_mean(ratios)), ""])
    return markdown_output.table(["model", "convert", "one core", "all cores", "ratio", "cores"], rows)


def memory(exported: Path, model: str, names: Sequence[str]) -> str:
    """Return the peaks of a worker that compiles, and of one that takes what was compiled from the cache."""
    rows = []
    for compiler in names:
        with tempfile.TemporaryDirectory(prefix="ngraph-cache-") as cache:
            peaks = []
            for _ in ("cold", "warm"):
                with worker(exported, cache=Path(cache)) as prepare:
                    peaks.append(prepare(model, compiler).memory_bytes)
        cold, warm = peaks
        rows.append([f"`{compiler}`", quantity(cold, "B"), quantity(warm, "B"), number(warm / cold)])
    return markdown_output.table(["compiler", "cold", "warm", "ratio"], rows)


def _compared(before: float, after: float) -> list[str]:
    return [quantity(before, "s"), quantity(after, "s"), number(after / before) if before else ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=MODELS, help="default: %(default)s")
    parser.add_argument("--compilers", default=COMPILERS, help="those that are installed; default: %(default)s")
    parser.add_argument("--only", default=PARTS, help="default: %(default)s")
    parser.add_argument("--repeats", type=int, default=3, help="pairs of workers for the order; default: %(default)s")
    chosen = parser.parse_args()
    models, parts = chosen.models.split(","), chosen.only.split(",")
    if unknown := sorted({*parts} - {*PARTS.split(",")}):
        parser.error(f"--only={chosen.only}: there is no {', '.join(unknown)}. Choose of {PARTS}.")
    if "order" in parts and len(models) < 4:
        parser.error(
            f"--models={chosen.models}: the order needs at least four models. Add some, or leave out the order."
        )
    names = [name for name in chosen.compilers.split(",") if not compilers.missing_library(name)]
    found = []
    with tempfile.TemporaryDirectory(prefix="ngraph-exported-") as exported:
        if "order" in parts:
            found += [
                f"{models[0]}, compiled first and fourth in a worker:",
                order(Path(exported), models, names, chosen.repeats),
            ]
        if "inductor" in parts:
            found += ["Inductor, compile_s on one core and on all:", inductor(Path(exported), models)]
        if "memory" in parts:
            found += [f"Peak of the worker, {models[0]}:", memory(Path(exported), models[0], names)]
    markdown_output.publish(environment(), "\n\n".join(found), "", Path())


if __name__ == "__main__":
    main()
