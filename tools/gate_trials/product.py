"""The gate's judgement: one pytest run with `--ngraph-against`."""

from __future__ import annotations

import math
import re
import statistics
import time
from collections.abc import Mapping
from xml.etree import ElementTree

from gate_trials.pytest_run import output_of
from gate_trials.repository import Repository
from gate_trials.results import Judgement
from pytest_ngraph import store
from pytest_ngraph.gate.launches import effects
from pytest_ngraph.record import Record

NAME = "gate"
UNMEASURED = "not measured"
CELL = re.compile(r"test_cell_(\d+)\[")
CALLED = re.compile(r"^\s*regressed\s+\S*cell=(\d+)\S*", re.MULTILINE)
"""A row of the final table."""


def judge(repository: Repository, threads: int) -> list[Judgement]:
    """Return the gate's judgement of every cell of the repository."""
    started = time.monotonic()
    output = output_of(
        repository.head,
        "test_gate.py",
        "--junitxml=gate.xml",
        "--ngraph-against=HEAD~1",
        *(["--ngraph-gate-threads=1"] if threads == 1 else []),
        "--ngraph-inconclusive=pass",
        environment={"COLUMNS": "250"},
    )
    wall_s = (time.monotonic() - started) / len(repository.cells)
    verdicts = final_verdicts((repository.head / "gate.xml").read_text(), output)
    records = _records(repository)
    return [
        Judgement(
            cell=cell,
            rule=NAME,
            verdict=verdicts.get(number, UNMEASURED),
            ratio=_ratio(records.get(number)),
            measured_s=_measured_s(records.get(number)),
            wall_s=wall_s,
            iterations=_iterations(records.get(number)),
        )
        for number, cell in repository.cells.items()
    ]


def final_verdicts(junit: str, output: str) -> dict[int, str]:
    """Return the verdict on each cell by number: its test's, or `regressed` where the final table says so."""
    verdicts = {}
    for test in ElementTree.fromstring(junit).iter("testcase"):
        match = CELL.match(test.get("name", ""))
        properties = {each.get("name"): each.get("value") for each in test.iter("property")}
        if match and properties.get("ngraph_verdict"):
            verdicts[int(match[1])] = str(properties["ngraph_verdict"])
    return verdicts | {int(number): "regressed" for number in CALLED.findall(output)}


def _records(repository: Repository) -> Mapping[int, Record]:
    return {
        int(dict(record.case.model_args)["cell"]): record for record in store.read(repository.head / ".ngraph").records
    }


def _ratio(record: Record | None) -> float | None:
    """Return the mean ratio over launches."""
    found = effects(record.comparison.launches) if record and record.comparison else []
    return math.exp(statistics.mean(each.log_ratio for each in found)) if found else None


def _measured_s(record: Record | None) -> float:
    return record.comparison.elapsed_s if record and record.comparison else 0.0


def _iterations(record: Record | None) -> int:
    launches = record.comparison.launches if record and record.comparison else ()
    return sum(2 * launch.iterations * len(each.quads) for launch in launches for each in launch.rounds)
