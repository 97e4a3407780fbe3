"""Explain each compiler on the study's five small models: how much of the time is known, and what explaining takes.

    python tools/explain_coverage.py [--write] [PYTEST OPTION ...]

It first measures the models in one pytest session, briefly. `--compiler=identity,openvino` leaves out the others.
`--write` puts the tables into docs/explain.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import markdown_output
import small_models

from pytest_ngraph.bench.again.explaining import explaining
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.case import Case
from pytest_ngraph.deploy import choice
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.explain.explanation import Explanation, explain
from pytest_ngraph.machine.devices import load_inventory
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.record import Phase, Record
from pytest_ngraph.settings import Settings
from pytest_ngraph.system.files import compiled_folder

BRIEFLY = ("--batch-size=1", "--ngraph-budget=0.01")
PAGE = markdown_output.ROOT / "docs" / "explain.md"
SECTION = "coverage of explanations"


class Explained(NamedTuple):
    """An explanation.

    Attributes:
        seconds: that it took once the model was compiled and verified.
        again_s: how many of them went into compiling once more, for compilers that are profiled by that; else 0.
    """

    explanation: Explanation
    seconds: float
    again_s: float


class Prepared(Silent):
    """Notes when a model is ready to be profiled, and from when to when it is compiled once more for that."""

    def __init__(self) -> None:
        self.at = 0.0
        self._again: list[float] = []

    def phase(self, case: Case, phase: Phase) -> None:
        self.at, self._again = time.perf_counter(), []

    def doing(self, case: Case, text: str) -> None:
        self._again.append(time.perf_counter())

    @property
    def again_s(self) -> float:
        return self._again[-1] - self._again[0] if self._again else 0.0


def explained(record: Record) -> Explained | str:
    """Return a measured case's explanation; why there is none, in words."""
    try:
        target = choice.target_of(record, load_inventory(None), purpose="explain")
        settings = Settings(cache=compiled_folder()).on_machine(this_machine().memory_bytes)
        graph, prepared = record.follows_from["graph"], Prepared()
        (profile,) = explaining([(record.case, target)], settings, graph, prepared)
    except NgraphError as error:
        return str(error)
    explanation = explain([profile])
    return Explained(explanation, time.perf_counter() - prepared.at, prepared.again_s)


def report(found: Mapping[str, Mapping[str, Explained | str]]) -> str:
    """Return the tables of explanations by compiler and model, and why cells are empty."""
    models = list(dict.fromkeys(model for of_compiler in found.values() for model in of_compiler))

    def grid(show: str, factor: float = 1.0, unit: str = " %") -> str:
        def cell(each: Explained | str | None) -> str:
            if not isinstance(each, Explained):
                return "–"
            values = {
                "coverage": each.explanation.coverage[0],
                "mapped": each.explanation.mapped[0],
                "seconds": each.seconds,
            }
            again = f" ({each.again_s:.1f}{unit})" if show == "seconds" and each.again_s else ""
            return f"{factor * values[show]:.1f}{unit}{again}"

        rows = [
            [f"`{compiler}`", *(cell(of_compiler.get(model)) for model in models)]
            for compiler, of_compiler in found.items()
        ]
        return markdown_output.table(["compiler", *models], rows)

    absences = [
        f"- `{compiler}` on {model}: {why}"
        for compiler, of_compiler in found.items()
        for model, why in of_compiler.items()
        if isinstance(why, str)
    ]
    explained = [each for of_compiler in found.values() for each in of_compiler.values() if isinstance(each, Explained)]
    mapped = {f"{100 * each.explanation.mapped[0]:.1f} %" for each in explained}
    is_same = len(mapped) == 1
    parts = [
        "Profiled time over the latency:",
        grid("coverage", 100),
        f"Of the profiled time, in modules and layout changes:{f' {mapped.pop()}, everywhere.' if is_same else ''}",
        "" if is_same else grid("mapped", 100),
        "Seconds of explaining, once the model is compiled and verified (of these, compiling it once more):",
        grid("seconds", unit=" s"),
        "\n".join(absences),
    ]
    return "\n\n".join(part for part in parts if part)


def explain_all(records: Sequence[Record]) -> dict[str, dict[str, Explained | str]]:
    """Explain every case that was measured, by compiler and model."""
    found: dict[str, dict[str, Explained | str]] = {}
    for record in records:
        if record.outcome == "measured":
            found.setdefault(record.case.compiler, {})[record.case.model_label] = explained(record)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    chosen, options = parser.parse_known_args()
    run = small_models.measure(*BRIEFLY, *options)
    found = report(explain_all(run.records))
    markdown_output.publish(run.environment, found, SECTION if chosen.write else "", PAGE)


if __name__ == "__main__":
    main()
