"""Compare what serving costs with a bare script, and the throughput of `serve.py` with the measured one.

    python tools/serving_truth.py [--write] [--launches=6] [--checks=6] [--results=FILE] [PYTEST OPTION ...]

The study's five small models are measured at batch size 1 under every installed compiler, by one pytest session, and
deployed. Beside each folder lies another with the same files, whose `serve.py` is written after the documentation of
the library. Both are launched in turn, in the same kind of fresh process. Then the case is measured again and
`serve.py --check` is run, bound to the same cores, in turn: the machine's speed drifts in the minutes between.
`-k resnet18 --compiler=identity,onnxruntime` leaves out the others.

`--launches=0` or `--checks=0` leaves one of both out. `--results` keeps what is found of each case, and the tables have
the cases of earlier calls too; of a case that is measured again, the last row counts. `--write` puts the comparisons
into docs/deploy-measured.md, and, where folders were launched, what each compiler needs into docs/compilers.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bare_scripts
import markdown_output
import numpy as np
import small_models

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.bench.processes.lock import exclusive
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.case import Case
from pytest_ngraph.costs import Costs, ServingLaunch
from pytest_ngraph.deploy.choice import target_of
from pytest_ngraph.deploy.folder import deploy
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.metrics import DEFINITIONS
from pytest_ngraph.metrics.text import quantity, with_interval
from pytest_ngraph.record import Record
from pytest_ngraph.serving.launches import LAUNCHES, Place, in_turn
from pytest_ngraph.serving.script import SCRIPT, throughput_in
from pytest_ngraph.settings import Settings
from pytest_ngraph.stats import median_interval
from pytest_ngraph.store import Run
from pytest_ngraph.system.affinity import on_cores
from pytest_ngraph.system.files import compiled_folder

DOCS = markdown_output.ROOT / "docs"
TIMEOUT_S = 600.0
BUDGET_S = 2.0
"""Seconds of rounds of a case that is measured again."""
COMPARED = ("cold_start_s", "serving_memory_bytes")
SHOWN = ("cold_start_s", "serving_memory_bytes", "serving_private_bytes", "artifact_bytes", "install_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What was found of a deployed case: a row of the tables.

    Attributes:
        shown: the costs in its folder's README, named as in `SHOWN`.
        launches: by the names in `COMPARED`, a value of each launch of its folder, with that of the bare script.
        rates: samples per second that were measured, each with what its `serve.py` printed right after.
    """

    compiler: str
    model: str
    shown: Mapping[str, str]
    launches: Mapping[str, Sequence[tuple[float, float]]]
    rates: Sequence[tuple[float, float]]

    @property
    def names(self) -> tuple[str, str]:
        """What names the row."""
        return f"`{self.compiler}`", self.model


def find(record: Record, run: Run, folder: Path, launches: int, checks: int) -> Truth:
    """Deploy a case, launch it in turn with the bare script, and run its check. Raise `NgraphError`."""
    target = target_of(record, BUILT_IN)
    settings = Settings(cache=compiled_folder()).on_machine(this_machine().memory_bytes)
    ours, bare = folder / "ours", folder / "bare"
    script = bare_scripts.of(record.case)
    deployed = deploy(record, run, target, settings, ours, Silent())
    shutil.copytree(ours, bare)
    (bare / "serve.py").write_text(script)
    places = [Place(folder=each, cores=target.cores) for each in (ours, bare)]
    with exclusive(lambda reason: None):
        launched = in_turn(places, TIMEOUT_S, lambda number: None, launches) if launches else [(), ()]
    again = dataclasses.replace(settings, budget_s=BUDGET_S)
    rates = list(_rates(record.case, target, again, places[0], checks))
    return row(record.case, deployed.costs, *launched, rates=rates)


def row(
    case: Case,
    costs: Costs,
    ours: Sequence[ServingLaunch],
    bare: Sequence[ServingLaunch],
    *,
    rates: Sequence[tuple[float, float]],
) -> Truth:
    """Return what was found of a case.

    Args:
        ours: launches of its folder.
        bare: launches of the bare script, in turn with these.
    """
    pairs = list(zip(ours, bare, strict=True))
    return Truth(
        compiler=case.compiler,
        model=case.model_label,
        shown={name: _shown(costs, name) for name in SHOWN},
        launches={name: [(getattr(a, name), getattr(b, name)) for a, b in pairs] for name in COMPARED if pairs},
        rates=rates,
    )


def _rates(case: Case, target: Target, settings: Settings, place: Place, count: int) -> Iterator[tuple[float, float]]:
    """Yield the samples per second that are measured, and those that a check prints right after."""
    with closing(Bench(settings, lambda _: target)) as bench:
        for _ in range(count):
            (record,) = bench.run([case])
            yield record.throughput, _rate(place)


def _rate(place: Place) -> float:
    """Return the samples per second that a check of this folder prints."""
    command = [*place.command, SCRIPT, "--check"]
    with on_cores(place.cores):
        done = subprocess.run(
            command, cwd=place.folder, env=place.environment, capture_output=True, text=True, check=True
        )
    return throughput_in(done.stdout)


def comparison(found: Sequence[Truth]) -> str:
    """Return ours over the bare script's."""
    heading = ["compiler", "model", "cold start", "serving memory"]
    rows = [[*each.names, *(_ratio(each.launches[name]) for name in COMPARED)] for each in found]
    sources = dict.fromkeys(bare_scripts.source(each.compiler) for each in found)
    return "\n\n".join(
        [
            "Ours over the bare script's, with 95 % intervals:",
            markdown_output.table(heading, rows),
            f"The scripts follow {', '.join(f'<{source}>' for source in sources)}.",
        ]
    )


def _ratio(pairs: Sequence[tuple[float, float]]) -> str:
    """Return the median ratio of the first over the second."""
    first, second = np.array(pairs).T
    return with_interval(median_interval(first / second))


def throughputs(found: Sequence[Truth]) -> str:
    """Return the throughput of `serve.py` over the measured one."""
    rows = []
    for each in found:
        sides = (quantity(float(np.median(side)), "samples/s") for side in np.array(each.rates).T)
        rows.append([*each.names, *sides, _ratio([(served, measured) for measured, served in each.rates])])
    heading = ["compiler", "model", "measured", "serve.py", "ratio"]
    title = "`serve.py` over what was measured right before, medians, with the 95 % interval of the ratio:"
    return f"{title}\n\n{markdown_output.table(heading, rows)}"


def keep(truth: Truth, results: Path) -> None:
    """Append what was found of a case to a file."""
    with results.open("a") as file:
        file.write(json.dumps(dataclasses.asdict(truth)) + "\n")


def kept(results: Path) -> list[Truth]:
    """Return what was found of each case in a file, sorted by model and compiler. Of a part, the last one counts."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in map(json.loads, results.read_text().splitlines()):
        earlier = found.setdefault((row["model"], row["compiler"]), row)
        earlier.update({name: part for name, part in row.items() if part})
    return [Truth(**found[names]) for names in sorted(found)]


def needs(found: Sequence[Truth]) -> str:
    """Return what each compiler needs to serve each model."""
    heading = ["compiler", "model", "cold start", "resident", "of it private", "files", "installed"]
    rows = [[*each.names, *(each.shown[name] for name in SHOWN)] for each in sorted(found, key=lambda each: each.model)]
    return markdown_output.table(heading, rows)


def _shown(costs: Costs, name: str) -> str:
    estimate = costs.estimate(name)
    return quantity(estimate.value, DEFINITIONS[name].unit) if estimate else "–"


def every(run: Run, launches: int, checks: int) -> Iterator[Truth]:
    """Yield what is found of each measured case, and say of the others why nothing is."""
    for record in run.records:
        with tempfile.TemporaryDirectory(prefix="ngraph-truth-") as folder:
            try:
                if record.outcome != "measured":
                    raise NgraphError(f"{record.case.id} is {record.outcome}: {record.skip_reason or record.failure}")
                yield find(record, run, Path(folder), launches, checks)
            except (NgraphError, subprocess.CalledProcessError) as error:
                print(error, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--launches", type=int, default=LAUNCHES, help="of each script; default: %(default)s")
    parser.add_argument("--checks", type=int, default=LAUNCHES, help="of each serve.py; default: %(default)s")
    parser.add_argument("--results", type=Path, metavar="FILE", help="where what is found is kept")
    chosen, options = parser.parse_known_args()
    run = small_models.measure("--batch-size=1", *options)
    found = []
    for each in every(run, chosen.launches, chosen.checks):
        found.append(each)
        if chosen.results:
            keep(each, chosen.results)
    if not found:
        sys.exit("nothing was deployed. See the messages above.")
    if chosen.results:
        found = kept(chosen.results)
    tables = []
    if launched := [each for each in found if each.launches]:
        tables.append(("serving", needs(launched), "compilers.md"))
        tables.append(("serving truth", comparison(launched), "deploy-measured.md"))
    if checked := [each for each in found if each.rates]:
        tables.append(("serving rates", throughputs(checked), "deploy-measured.md"))
    for section, text, page in tables:
        markdown_output.publish(run.environment, text, section if chosen.write else "", DOCS / page)


if __name__ == "__main__":
    main()
