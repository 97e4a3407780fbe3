"""What a result depends on. A result of equal provenance need not be produced again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_ngraph import wording
from pytest_ngraph.artifact import Target
from pytest_ngraph.case import SERVING, Case
from pytest_ngraph.machine.host import THIS_MACHINE, Host
from pytest_ngraph.machine.machine import CXX, Machine
from pytest_ngraph.record import Failure
from pytest_ngraph.settings import Settings


def of_compiling(case: Case, target: Target, graph: str, host: Host = THIS_MACHINE) -> dict[str, Any]:
    """Return everything that a compiled artifact depends on, as JSON-ready data.

    Args:
        graph: the digest of what the compiler starts from.
        host: the machine that compiles.
    """
    machine = host.machine
    instruction_sets = " ".join(sorted(machine.instruction_sets))
    return {
        "graph": graph,
        "workload": case.model_label,
        "batch_size": case.batch_size,
        "compiler": case.compiler,
        "source": host.source_digest(case.compiler),
        "libraries": dict(host.libraries),
        "variables": dict(host.variables),
        CXX: host.cxx,
        "python": host.python,
        "target": target.to_dict() | {"cores": _cores(target, machine)},
        "processor": [machine.architecture, machine.processor, _digest(instruction_sets.encode())],
        "gpus": list(machine.accelerators_of(target.kind)),
        "driver": machine.driver if target.kind == "cuda" else "",
    }


def of_measuring(
    case: Case,
    target: Target,
    settings: Settings,
    *,
    graph: str,
    files: Mapping[str, str],
    against: str = "",
    failure: Failure | None = None,
    tails_s: float = 0.0,
    host: Host = THIS_MACHINE,
) -> dict[str, Any]:
    """Return everything that a record depends on, as JSON-ready data.

    Args:
        graph: the digest of what the compiler starts from.
        files: digests of the files read to build the workload, by path.
        against: identifies the base that it was measured beside.
        failure: the record's failure. A record that ran into a limit also depends on that limit.
        tails_s: seconds of single calls; 0 where none are asked for. A record that has them stands without, too.
        host: the machine that measures.
    """
    return of_compiling(case, target, graph, host) | {
        "machine": host.machine.fingerprint,
        "settings": settings.relevant_to(failure.kind if failure else ""),
        "files": dict(files),
        "against": against,
        **({"tails_s": tails_s} if tails_s else {}),
        **({"load": settings.of_load} if case.objective == SERVING else {}),
    }


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what differs between two provenances, in words: `libraries: torch 2.6.0 -> 2.7.1`."""
    return [text for key in now if before.get(key) != now[key] for text in _change(key, before.get(key), now[key])]


def _change(key: str, before: Any, now: Any) -> Iterator[str]:
    if key == "files":
        yield from (f"{Path(path).name} changed" for path in now if (before or {}).get(path) != now[path])
    elif key == "source":
        yield "the compiler's own code or libraries changed"
    elif isinstance(before, dict) and isinstance(now, dict):
        yield f"{key}: {', '.join(wording.changes(before, now))}"
    else:
        yield f"{key}: {before or 'none'} -> {now or 'none'}"


def _cores(target: Target, machine: Machine) -> list[int] | int:
    """Return the cores, or only how many: under a CPU quota, each session takes those that are idle."""
    return target.threads if machine.quota is not None else list(target.cores)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
