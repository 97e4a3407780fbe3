"""Compare what serving costs with a bare script, and the throughput of `serve.py` with the measured one.

    python tools/serving_truth.py [--write] [--launches=6] [--checks=6] [--results=FILE] [PYTEST OPTION ...]

The study's five small models are measured at batch size 1 under every installed compiler, by one pytest session, and
deployed. Beside each folder lies another with the same files, whose `serve.py` is written after the documentation of
the library. Both are launched in turn, in the same kind of fresh process. Then the case is measured again and
`serve.py --check` is run, bound to the same cores, in turn: the machine's speed drifts in the minutes between.
`-k resnet18 --compiler=identity,onnxruntime` leaves out the others.

`--launches=0` or `--checks=0` leaves one of both out. `--results` keeps the throughputs of each case, and the table has
those of earlier calls too; of a case that is measured again, the last ones count. `--write` puts the comparisons into
docs/deploy.md, and, where folders were launched, what each compiler needs into docs/compilers.md.
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

import bare_scripts
import markdown_output
import numpy as np
import small_models

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.bench.lock import exclusive
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
from pytest_ngraph.stats import Estimate, median_interval
from pytest_ngraph.store import Run
from pytest_ngraph.system.affinity import on_cores
from pytest_ngraph.system.files import compiled_folder

DOCS = markdown_output.ROOT / "docs"
TIMEOUT_S = 600.0
BUDGET_S = 2.0
"""Seconds of rounds of a case that is measured again."""
Rates = Sequence[tuple[float, float]]
"""Samples per second of a case that were measured, each with what its `serve.py` printed right after."""
COMPARED = ("cold_start_s", "serving_memory_bytes")
SHOWN = ("cold_start_s", "serving_memory_bytes", "serving_private_bytes", "artifact_bytes", "install_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What was found of a deployed case.

    Attributes:
        costs: as its folder's README has them.
        ours: launches of its folder.
        bare: launches of the bare script, in turn with these.
        rates: its throughputs.
    """

    record: Record
    costs: Costs
    ours: Sequence[ServingLaunch]
    bare: Sequence[ServingLaunch]
    rates: Rates


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
    rates = list(_rates(record.case, target, dataclasses.replace(settings, budget_s=BUDGET_S), places[0], checks))
    return Truth(record=record, costs=deployed.costs, ours=launched[0], bare=launched[1], rates=rates)


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
    rows = [[*_names(each), *map(with_interval, ratios(each))] for each in found]
    sources = dict.fromkeys(bare_scripts.source(each.record.case) for each in found)
    return "\n\n".join(
        [
            "Ours over the bare script's, with 95 % intervals:",
            markdown_output.table(heading, rows),
            f"The scripts follow {', '.join(f'<{source}>' for source in sources)}.",
        ]
    )


def ratios(truth: Truth) -> Iterator[Estimate]:
    """Yield cold start and serving memory over the bare script's."""
    for name in COMPARED:
        ours, bare = (np.array([getattr(launch, name) for launch in own]) for own in (truth.ours, truth.bare))
        yield median_interval(ours / bare)


def throughputs(found: Mapping[tuple[str, str], Rates]) -> str:
    """Return the throughput of `serve.py` over the measured one, by compiler and model."""
    rows = []
    for names, rates in found.items():
        measured, served = np.array(rates).T
        ratio = with_interval(median_interval(served / measured))
        rows.append([*names, *(quantity(float(np.median(side)), "samples/s") for side in (measured, served)), ratio])
    heading = ["compiler", "model", "measured", "serve.py", "ratio"]
    title = "`serve.py` over what was measured right before, medians, with the 95 % interval of the ratio:"
    return f"{title}\n\n{markdown_output.table(heading, rows)}"


def keep(truth: Truth, results: Path) -> None:
    """Append the throughputs of a case to a file."""
    compiler, model = _names(truth)
    with results.open("a") as file:
        file.write(json.dumps({"compiler": compiler, "model": model, "rates": truth.rates}) + "\n")


def kept(results: Path) -> dict[tuple[str, str], Rates]:
    """Return the throughputs in a file, by compiler and model, sorted by model."""
    every = [json.loads(line) for line in results.read_text().splitlines()]
    found = {(each["compiler"], each["model"]): each["rates"] for each in every}
    return dict(sorted(found.items(), key=lambda each: each[0][1]))


def needs(found: Sequence[Truth]) -> str:
    """Return what each compiler needs to serve each model."""
    rows = [
        [*_names(each), *(_shown(each.costs, name) for name in SHOWN)]
        for each in sorted(found, key=lambda each: each.record.case.model_label)
    ]
    heading = ["compiler", "model", "cold start", "resident", "of it private", "files", "installed"]
    return markdown_output.table(heading, rows)


def _names(truth: Truth) -> tuple[str, str]:
    return f"`{truth.record.case.compiler}`", truth.record.case.model_label


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
    parser.add_argument("--results", type=Path, metavar="FILE", help="where throughputs are kept")
    chosen, options = parser.parse_known_args()
    run = small_models.measure("--batch-size=1", *options)
    found = []
    for each in every(run, chosen.launches, chosen.checks):
        found.append(each)
        if chosen.checks and chosen.results:
            keep(each, chosen.results)
    if not found:
        sys.exit("nothing was deployed. See the messages above.")
    tables = []
    if chosen.launches:
        tables += [("serving", needs(found), "compilers.md"), ("serving truth", comparison(found), "deploy.md")]
    if chosen.checks:
        rates = kept(chosen.results) if chosen.results else {_names(each): each.rates for each in found}
        tables.append(("serving rates", throughputs(rates), "deploy.md"))
    for section, text, page in tables:
        markdown_output.publish(run.environment, text, section if chosen.write else "", DOCS / page)


if __name__ == "__main__":
    main()
