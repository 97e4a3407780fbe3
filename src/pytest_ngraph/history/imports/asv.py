"""Results of asv: the files `results/MACHINE/COMMIT-ENVIRONMENT.json`, of version 2 of its format (asv 0.4 and later).

A benchmark with parameters has a result for each combination: `bench.time_it(1, 'a')`. Only benchmarks of time count,
which asv calls `time_...`; the unit of others is not in the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from pytest_ngraph.history.places import ENVIRONMENT
from pytest_ngraph.history.summary import Origin, Summary, case_named
from pytest_ngraph.stats import Estimate
from pytest_ngraph.store.run import COMMIT

VERSION = 2
OF_TIME = ("time_", "Time", "timeraw_")
"""What the name of a function begins with whose result asv gives in seconds."""
OF_MACHINE = {"machine": "fingerprint", "cpu": "processor", "arch": "architecture", "os": "system", "ram": "memory"}


def wrote(data: Mapping[str, Any]) -> bool:
    """Return whether asv wrote this."""
    return "commit_hash" in data and "results" in data


def event(data: Mapping[str, Any], file: Path) -> str:
    """Return what asv writes into one file, which it rewrites: the results of a commit on a machine."""
    return f"{_machine(data, file)} {data['commit_hash']} {data.get('env_name') or file.name}"


def results(data: Mapping[str, Any], file: Path) -> Iterator[tuple[Origin, Summary, str]]:
    """Yield the results of a file, each with its benchmark's version; all are of one commit and one machine.

    Their time is that of the commit: `asv run v1..main` measures older commits after newer ones.
    """
    if data.get("version") != VERSION:
        raise ValueError(f"version {data.get('version')} of asv's format, not {VERSION}; `asv update` converts it")
    about, machine = dict(data.get("params") or {}), _machine(data, file)
    libraries = {str(name): str(text) for name, text in (data.get("requirements") or {}).items() if text}
    facts = {name: str(about[key]) for key, name in OF_MACHINE.items() if about.get(key)}
    python = {"python": str(data["python"])} if data.get("python") else {}
    named = {ENVIRONMENT: str(data["env_name"])} if data.get("env_name") else {}
    origin = Origin(run="", environment=facts | python | libraries | named, source={COMMIT: str(data["commit_hash"])})
    columns = list(data["result_columns"])
    for name, row in data["results"].items():
        if not name.rpartition(".")[2].startswith(OF_TIME):
            continue
        found = dict(zip(columns, row, strict=False))
        for label, latency in _latencies(name, found):
            summary = Summary(
                case_id=label,
                case=case_named(label, machine),
                outcome="measured",
                started_at=float(data.get("date") or found.get("started_at") or 0) / 1000,
                latency=latency,
            )
            yield origin, summary, str(found.get("version") or "")


def _machine(data: Mapping[str, Any], file: Path) -> str:
    return str((data.get("params") or {}).get("machine") or file.parent.name)


def _latencies(name: str, found: Mapping[str, Any]) -> Iterator[tuple[str, Estimate]]:
    """Yield a benchmark's seconds for each combination of its parameters that was measured."""
    values, parameters = found.get("result") or (), found.get("params") or []
    lows, highs = (found.get(f"stats_ci_99_{end}") or [None] * len(values) for end in "ab")
    for number, choice in enumerate(product(*parameters)):
        value = values[number] if number < len(values) else None
        if value is None or not 0 < float(value) < math.inf:
            continue
        low, high = (each[number] if number < len(each) else None for each in (lows, highs))
        yield f"{name}({', '.join(choice)})" if choice else name, Estimate.with_bounds(value, low, high)
