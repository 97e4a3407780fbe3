"""What the gate and its explanation said of a case in which something is planted, and the file that keeps it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pytest_ngraph.gate import Rule, verdict
from pytest_ngraph.gate.parts import differing, is_module, slowdown_s, together
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Estimate, quotient


class Plant(NamedTuple):
    """What is planted behind a layer."""

    module: str
    change: str


Key = tuple[str, str, Plant | None]
"""Network, compiler, and what was planted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the gate and its explanation said of a case.

    Attributes:
        plant: what was planted; None where nothing was.
        verdict: the gate's.
        first: the first part that it names as slower, empty for none; None where there is no explanation.
        part_s: by how many seconds this part is slower, with its interval.
        parts_s: by how many seconds all parts that surely differ are slower, together.
        whole_s: by how many seconds the whole network is slower by the gate's launches, with the verdict's interval.
        coverage: profiled time over timed latency, the lesser of base and head.
    """

    network: str
    compiler: str
    plant: Plant | None
    verdict: str
    first: str | None = None
    part_s: Estimate | None = None
    parts_s: Estimate | None = None
    whole_s: Estimate | None = None
    coverage: float = 0.0

    @property
    def key(self) -> Key:
        return self.network, self.compiler, self.plant

    @property
    def is_found(self) -> bool:
        """Whether the module with the plant comes first."""
        if self.plant is None or self.first is None:
            return False
        return self.first == self.plant.module or self.first.startswith(f"{self.plant.module}.")

    @property
    def is_all(self) -> bool:
        """Whether the first part may be the whole slowdown: whether the interval of its share has 100 % in it."""
        return _is_all(self.part_s, self.whole_s)

    @property
    def are_all(self) -> bool:
        """Whether all parts that surely differ may be the whole slowdown together."""
        return _is_all(self.parts_s, self.whole_s)


def _is_all(part_s: Estimate | None, whole_s: Estimate | None) -> bool:
    if part_s is None or whole_s is None:
        return False
    share = quotient(part_s, whole_s)
    return share.low <= 1 <= share.high


def outcome(record: Record, plants: Mapping[str, Plant]) -> Outcome | None:
    """Return what was said of a case; None where it was not compared."""
    comparison = record.comparison
    if comparison is None or record.outcome != "measured":
        return None
    network = str(dict(record.case.model_args)["name"])
    found = verdict(record.case, comparison, Rule())
    reached = Outcome(
        network=network,
        compiler=record.case.compiler,
        plant=plants.get(network),
        verdict=found.name,
    )
    explanation: dict[str, Any] | None = comparison.explanation
    if found.ratio is None or not explanation or not explanation.get("rows"):
        return reached
    return _explained(reached, explanation, found.ratio)


def _explained(reached: Outcome, explanation: dict[str, Any], ratio: Estimate) -> Outcome:
    """Return the outcome with what an explanation says, given as `Explanation.to_dict` writes it.

    Args:
        ratio: the head's time over the base's, with its interval.
    """
    slower, faster = (
        [row for row in differing(explanation, slower=way) if is_module(row) or row["kind"] == "layout"]
        for way in (True, False)
    )
    modules = [row for row in slower if is_module(row)]
    return dataclasses.replace(
        reached,
        first=modules[0]["name"] if modules else "",
        part_s=together(modules[:1]) if modules else None,
        parts_s=together([*slower, *faster]) if slower else None,
        whole_s=slowdown_s(explanation, ratio),
        coverage=min(explanation["coverage"]),
    )


def read(path: Path | None) -> dict[Key, Outcome]:
    """Return what was kept in a file; nothing where there is none."""
    lines = path.read_text().splitlines() if path and path.exists() else []
    found = (json.loads(line) for line in lines)
    kept = (Outcome(**each | _tuples(each)) for each in found)
    return {each.key: each for each in kept}


def _tuples(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that JSON has as lists."""
    types = {"plant": Plant._make, "part_s": Estimate._make, "parts_s": Estimate._make, "whole_s": Estimate._make}
    return {name: make(kept[name]) for name, make in types.items() if kept.get(name) is not None}


def keep(path: Path, outcomes: Iterable[Outcome]) -> None:
    """Add outcomes to a file, one line of JSON each, but for unchanged cases that nothing was said of."""
    said = (each for each in outcomes if each.plant or each.first is not None)
    with path.open("a") as file:
        file.writelines(json.dumps(dataclasses.asdict(each)) + "\n" for each in said)
