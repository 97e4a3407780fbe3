"""Measure how much launches of unchanged code differ, by which bursts are compared: why the fastest quarter is used.

    python tools/launch_spread.py --stores=DIR [--cells=4] [--write]
    python tools/launch_spread.py --stores=DIR --forked [--compilers=torchscript,onnxruntime,openvino,tvm] [...]

The networks of `tools/gate.py` are compared with themselves by `--ngraph-calibrate`, on a quiet machine, with one core
busy, and under bursts of other work. The runs are kept in the folder; those already there are not measured again.

`--forked` measures something else: for each compiler, how much launches differ that are forked from a process with the
libraries imported, and how much those differ that import them themselves, on a quiet machine with two threads.

`--write` puts the table into docs/gate-measured.md.
"""

from __future__ import annotations

import argparse
import math
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from pathlib import Path

import markdown_output
import numpy as np
from gate_trials import conditions, own_processes
from gate_trials.cells import Cell
from gate_trials.pytest_run import output_of
from gate_trials.repository import Repository

from pytest_ngraph import store
from pytest_ngraph.comparison import Build, Launch, Quad
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Floats
from pytest_ngraph.wording import counted

PAGE = markdown_output.ROOT / "docs" / "gate-measured.md"
COMPILERS = ("torchscript", "onnxruntime")
FORKED_COMPILERS = ("torchscript", "onnxruntime", "openvino", "tvm")
STARTS = {"forked": True, "by itself": False}
"""How launches start, with whether they are forked."""
CELLS = 4
"""Cells of each compiler."""
Typical = Callable[[Floats], float]
"""Returns one value for all bursts of an arm, from their logarithms."""
SHARES = {"all bursts": 1.0, "fastest half": 0.5, "fastest quarter": 0.25, "fastest tenth": 0.1}


def measure(
    condition: str, threads: int, folder: Path, compilers: Sequence[str], count: int, *, forks: bool = True
) -> None:
    """Compare every cell with itself under this condition, and keep the store in the folder.

    Args:
        compilers: compilers of the cells.
        count: cells of each compiler.
        forks: whether launches may be forked.
    """
    cells = [
        Cell(condition=condition, threads=threads, compiler=compiler, slowdown_percent=0.0, index=index)
        for compiler, index in product(compilers, range(count))
    ]
    with tempfile.TemporaryDirectory(prefix="ngraph-spread-") as root, conditions.held(condition):
        repository = Repository(Path(root), cells, [0] * len(cells), threads)
        # A cache folder of its own: this must not replace the machine's calibration.
        environment = {"XDG_CACHE_HOME": str(Path(root, "user"))}
        options = ["--ngraph-calibrate", f"--ngraph-gate-threads={threads}"]
        if not forks:
            options += ["-p", own_processes.__name__.rpartition(".")[2]]
            environment |= {"PYTHONPATH": str(Path(own_processes.__file__).parent)}
        output_of(repository.head, "test_gate.py", *options, environment=environment)
        shutil.copytree(repository.head / ".ngraph", folder)


def report(runs: Sequence[tuple[str, int, store.Run]]) -> str:
    """Return a row for each condition: the standard deviation between launches, the root mean square over cells."""
    rows = [
        [f"{conditions.CONDITIONS[condition]}, {counted(threads, 'thread')}", *_spreads(run.records)]
        for condition, threads, run in runs
    ]
    return markdown_output.table(["launches spread by, comparing", "medians", *SHARES], rows)


def forked_report(runs: Mapping[str, store.Run]) -> str:
    """Return a row for each compiler: how much fresh launches differ, for each way in which they start.

    It is the standard deviation that follows from the median difference of two launches of a cell, because a single
    launch that other work delayed would make up most of the usual one; and the largest difference of two.

    Args:
        runs: a run for each of `STARTS`.
    """
    rows: dict[str, list[str]] = {}
    for run in runs.values():
        cells: dict[str, list[list[Launch]]] = {}
        for record in run.records:
            fresh = [launch for launch in record.comparison.launches if launch.fresh] if record.comparison else []
            if len(fresh) > 1:
                cells.setdefault(record.case.compiler, []).append(fresh)
        for compiler, launches in cells.items():
            rows.setdefault(compiler, []).append(_robust_spread(launches))
    heading = ["launches spread by (largest difference), if they start", *runs]
    return markdown_output.table(heading, [[f"`{compiler}`", *texts] for compiler, texts in rows.items()])


def _spreads(records: Sequence[Record]) -> Iterator[str]:
    cells = [record.comparison.launches for record in records if record.comparison]
    ways: list[Typical] = [_median, *(partial(_mean_of_fastest, share=share) for share in SHARES.values())]
    yield from (_spread(cells, typical) for typical in ways)


def _spread(cells: Sequence[Sequence[Launch]], typical: Typical) -> str:
    """Return the standard deviation between the launches of a cell, the root mean square over cells."""
    deviations = [np.std([_log_ratio(launch, typical) for launch in launches], ddof=1) for launches in cells]
    return f"{100 * float(np.sqrt(np.mean(np.square(deviations)))):.2f} %"


def _robust_spread(cells: Sequence[Sequence[Launch]]) -> str:
    typical = partial(_mean_of_fastest, share=SHARES["fastest quarter"])
    ratios = [[_log_ratio(launch, typical) for launch in launches] for launches in cells]
    differences = [abs(one - other) for cell in ratios for one, other in combinations(cell, 2)]
    spread = statistics.median(differences) / (math.sqrt(2) * statistics.NormalDist().inv_cdf(0.75))
    launches = counted(sum(map(len, cells)), "launch", "launches")
    return f"{100 * spread:.2f} % ({100 * max(differences):.1f} %), {launches}"


def _log_ratio(launch: Launch, typical: Typical) -> float:
    """Return the log ratio of the head's time over the base's: the mean of the builds."""
    return statistics.mean(
        typical(_logs(build, lambda quad: quad.head)) - typical(_logs(build, lambda quad: quad.base))
        for build in launch.builds
    )


def _logs(build: Build, bursts: Callable[[Quad], tuple[float, float]]) -> Floats:
    """Return the logarithms of an arm's bursts, the fastest first."""
    return np.sort(np.log([seconds for each in build.rounds for quad in each.quads for seconds in bursts(quad)]))


def _median(logs: Floats) -> float:
    return float(np.median(logs))


def _mean_of_fastest(logs: Floats, share: float) -> float:
    return float(np.mean(logs[: max(1, round(share * len(logs)))]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stores", type=Path, required=True, metavar="DIR")
    parser.add_argument("--forked", action="store_true", help="compare forked launches with others")
    parser.add_argument("--compilers", type=lambda text: text.split(","), help="compilers of the cells")
    parser.add_argument("--cells", type=int, default=CELLS, help="cells of each compiler")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.forked:
        compare_starts(asked)
        return
    runs = []
    for threads, condition in product((2, 1), conditions.CONDITIONS):
        folder = asked.stores / f"{condition}{threads}"
        if not folder.exists():
            measure(condition, threads, folder, asked.compilers or COMPILERS, asked.cells)
        runs.append((condition, threads, store.read(folder)))
    markdown_output.publish(runs[0][2].environment, report(runs), "launch spread" if asked.write else "", PAGE)


def compare_starts(asked: argparse.Namespace) -> None:
    """Measure both ways in which a launch may start, and print how much each spreads."""
    runs = {}
    for start, forks in STARTS.items():
        folder = asked.stores / f"forked-{forks}".lower()
        if not folder.exists():
            measure("quiet", 2, folder, asked.compilers or FORKED_COMPILERS, asked.cells, forks=forks)
        runs[start] = store.read(folder)
    section = "forked launches" if asked.write else ""
    markdown_output.publish(runs["forked"].environment, forked_report(runs), section, PAGE)


if __name__ == "__main__":
    main()
