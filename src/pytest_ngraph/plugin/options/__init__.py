"""Every option and ini key, declared and read here; `Options` in `session/options.py` is what they become.

Each file declares and reads one group: `cases` (which cases), `measuring` (how they are measured), `outputs` (where
results go), `thresholds` (which metrics fail), `resume`, `gate`, `cluster`. `reading` reads a single value.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.devices import load_inventory
from pytest_ngraph.plugin.options import cases, cluster, gate, measuring, outputs, resume, thresholds
from pytest_ngraph.plugin.options.cases import parse_batch_size, parse_compiler
from pytest_ngraph.plugin.options.reading import path, resolved, single
from pytest_ngraph.plugin.options.thresholds import parse_thresholds
from pytest_ngraph.session.options import DEFAULT_STORE, Options
from pytest_ngraph.settings import Settings

__all__ = [
    "declare",
    "is_xdist_worker",
    "parse_batch_size",
    "parse_compiler",
    "parse_thresholds",
    "read",
]


def declare(parser: pytest.Parser) -> None:
    """Add the options and ini keys to pytest's parser."""
    group = parser.getgroup("ngraph", "benchmarks of neural-graph compilers")

    def add(flag: str, ini: str, help_: str, *, kind: Any = "args", **keywords: Any) -> None:
        group.addoption(flag, default=None, help=f"{help_} (ini: {ini})".replace("%", "%%"), **keywords)
        parser.addini(ini, help_, type=kind, default=None)

    for options in (cases, measuring, outputs, thresholds, resume, gate, cluster):
        options.declare(add)
    parser.addini(
        "ngraph_devices", "File with device profiles (TOML, one table per device)", type="string", default=None
    )


def read(config: pytest.Config) -> Options:
    """Return the options of this run. Raises `UsageError` for a value that does not exist or is not allowed."""
    inventory = load_inventory(_devices_file(config))
    settings = measuring.read(config)
    gate_options = gate.read(config)
    advises = measuring.advises(config)
    if advises and single(config, "goal") is None and not gate_options.measures_base:
        settings = dataclasses.replace(settings, goal="rank")
    cluster_options = cluster.read(config, gate_options)
    _refuse_goal(settings, measures_base=gate_options.measures_base, is_remote=bool(cluster_options.scheduler))
    return Options(
        inventory=inventory,
        **cases.read(config, inventory),
        settings=settings,
        store=path(config, "store") or config.rootpath / DEFAULT_STORE,
        **thresholds.read(config, is_compared=gate_options.compares_with_other_code),
        gate=gate_options,
        resume=resume.read(config),
        cluster=cluster_options,
        report=path(config, "report"),
        summary=path(config, "summary"),
        tails=single(config, "tails") is not None,
        serving=measuring.serving(config),
        precompile=0 if _is_distributed(config) else measuring.precompile(config),
        advise=advises,
        reads_figures=outputs.reads_figures(config),
        measures=not (config.option.collectonly or settings.smoke or _is_distributed(config)),
    )


def _refuse_goal(settings: Settings, *, measures_base: bool, is_remote: bool) -> None:
    """Raise `UsageError` for a goal that this run cannot end with."""
    if settings.goal != "precision" and measures_base:
        raise UsageError(
            f"--ngraph-goal={settings.goal}: in a run that is compared with a base, the verdicts decide when rounds "
            "end. Leave the goal out, or compare in another run."
        )
    if settings.goal == "threshold" and is_remote:
        raise UsageError(
            "--ngraph-goal=threshold: devices of a cluster do not know the thresholds. Give another goal: rank, best, "
            "precision."
        )


def _is_distributed(config: pytest.Config) -> bool:
    """Whether pytest-xdist runs the tests in several processes: nothing is measured in these, nor in the one that
    starts them. It does with `-n` or `--tx`: `--dist` alone, as in `addopts`, does nothing."""
    return is_xdist_worker(config) or (config.getoption("dist", "no") != "no" and bool(config.getoption("tx", None)))


def is_xdist_worker(config: pytest.Config) -> bool:
    """Whether this is one of the processes among which pytest-xdist divides the tests."""
    return hasattr(config, "workerinput")


def _devices_file(config: pytest.Config) -> Path | None:
    name = config.getini("ngraph_devices")
    if not name:
        return None
    return resolved("ngraph_devices", str(name), config.inipath.parent if config.inipath else config.rootpath)
