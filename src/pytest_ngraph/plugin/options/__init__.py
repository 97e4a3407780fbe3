"""Every option and ini key, declared and read in one place."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import pytest

from pytest_ngraph import compilers
from pytest_ngraph.case import OBJECTIVES, PRECISIONS, CompilerSpec
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.devices import Device, load_inventory, parse_size
from pytest_ngraph.plugin.options import cluster, gate, resume
from pytest_ngraph.plugin.options.cluster import ClusterOptions
from pytest_ngraph.plugin.options.gate import GateOptions
from pytest_ngraph.plugin.options.reading import ONE, Axis, axis, choice, lines, path, positive, resolved, share, single
from pytest_ngraph.plugin.options.resume import ResumeOptions
from pytest_ngraph.settings import Isolation, Settings
from pytest_ngraph.system.files import compiled_folder

if TYPE_CHECKING:
    from pytest_ngraph.gate import Threshold

__all__ = [
    "Axis",
    "ClusterOptions",
    "GateOptions",
    "Options",
    "ResumeOptions",
    "declare",
    "parse_batch_size",
    "parse_compiler",
    "parse_thresholds",
    "parse_whole",
    "read",
]

DEFAULTS = Settings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a run, checked.

    measures: false where nothing is timed: tests are only listed, models are called once, or pytest-xdist distributes.
    """

    inventory: dict[str, Device]
    devices: Axis[str]
    compilers: Axis[str]
    batch_sizes: Axis[int]
    precisions: Axis[str]
    objectives: Axis[str]
    settings: Settings
    store: Path
    thresholds: tuple[Threshold, ...]
    gate: GateOptions = gate.DEFAULTS
    resume: ResumeOptions = resume.DEFAULTS
    cluster: ClusterOptions = cluster.DEFAULTS
    report: Path | None = None
    measures: bool = True


def declare(parser: pytest.Parser) -> None:
    """Add the options and ini keys to pytest's parser."""
    group = parser.getgroup("ngraph", "benchmarks of neural-graph compilers")

    def add(flag: str, ini: str, help_: str, *, kind: Any = "args", **keywords: Any) -> None:
        group.addoption(flag, default=None, help=f"{help_} (ini: {ini})".replace("%", "%%"), **keywords)
        parser.addini(ini, help_, type=kind, default=None)

    many: dict[str, Any] = {"action": "append", "metavar": "NAME[,NAME...]"}
    add(
        "--device",
        "ngraph_device",
        "Device profiles to measure as: cpu (default), xeon, gpu, orin, or your own",
        **many,
    )
    add("--compiler", "ngraph_compiler", "Compilers, with options: openvino:streams=2. Default: all installed", **many)
    add("--batch-size", "ngraph_batch_size", "Batch sizes. Default: 1", **many)
    add("--precision", "ngraph_precision", f"Precisions: {', '.join(PRECISIONS)}. Default: fp32", **many)
    add("--objective", "ngraph_objective", f"Objectives: {', '.join(OBJECTIVES)}. Default: latency", **many)
    add(
        "--ngraph-budget",
        "ngraph_budget",
        f"Seconds of measuring per case. Default: {DEFAULTS.budget_s:g}",
        metavar="SECONDS",
        **ONE,
    )
    add(
        "--ngraph-precision-target",
        "ngraph_precision_target",
        "Stop measuring when the median is known within this share. Default: 1%",
        metavar="SHARE",
        **ONE,
    )
    add(
        "--ngraph-timeout",
        "ngraph_timeout",
        f"Seconds that a case may spend in one phase. Default: {DEFAULTS.timeout_s:g}",
        metavar="SECONDS",
        **ONE,
    )
    add(
        "--ngraph-memory",
        "ngraph_memory",
        "Resident memory at which a case's worker is killed: 8GiB. Default: 80% of the machine's",
        metavar="SIZE",
        **ONE,
    )
    add(
        "--ngraph-isolation",
        "ngraph_isolation",
        "One worker process per compiler (default), or a fresh one per case",
        metavar="compiler|case",
        **ONE,
    )
    add(
        "--ngraph-cache",
        "ngraph_cache",
        "Folder of compiled artifacts, or off. Default: the user's cache folder",
        metavar="DIR|off",
        **ONE,
    )
    add(
        "--ngraph-cache-size",
        "ngraph_cache_size",
        "Size that the folder of compiled artifacts is kept below. Default: 10GiB",
        metavar="SIZE",
        **ONE,
    )
    add(
        "--ngraph-store",
        "ngraph_store",
        "Folder of the recorded runs. Default: .ngraph in pytest's root folder",
        metavar="DIR",
        **ONE,
    )
    add(
        "--ngraph-fail-on",
        "ngraph_fail_on",
        "Fail when a metric breaches this: 'bsr<0.9', 'ase[b=16]<0.5', 'speedup<1.2 if compiler=openvino'; against a "
        "base also when it is worse by more than this: 'bsr:5%'",
        kind="linelist",
        action="append",
        metavar="THRESHOLD",
    )
    add(
        "--ngraph-report",
        "ngraph_report",
        "Write every table and figure of the run into this folder, and a page that shows them",
        metavar="DIR",
        **ONE,
    )
    resume.declare(add)
    gate.declare(add)
    cluster.declare(add)
    parser.addini(
        "ngraph_devices", "File with device profiles (TOML, one table per device)", type="string", default=None
    )


def read(config: pytest.Config) -> Options:
    """The options of this run. Raises `UsageError` for anything that does not exist or cannot be."""
    inventory = load_inventory(_devices_file(config))
    settings = _settings(config)
    gate_options = gate.read(config)
    return Options(
        inventory=inventory,
        devices=axis(config, "device", lambda text: _one_of("device", text, inventory)),
        compilers=axis(config, "compiler", parse_compiler, split_compilers),
        batch_sizes=axis(config, "batch_size", parse_batch_size),
        precisions=axis(config, "precision", lambda text: _one_of("precision", text, PRECISIONS)),
        objectives=axis(config, "objective", lambda text: _one_of("objective", text, OBJECTIVES)),
        settings=settings,
        store=path(config, "store") or config.rootpath / ".ngraph",
        thresholds=parse_thresholds(lines(config, "ngraph_fail_on")),
        gate=gate_options,
        resume=resume.read(config),
        cluster=cluster.read(config, gate_options),
        report=path(config, "report"),
        measures=not (config.option.collectonly or settings.smoke or _is_distributed(config)),
    )


def _is_distributed(config: pytest.Config) -> bool:
    """Whether pytest-xdist runs the tests in several processes: neither in these nor in the one that starts them is
    anything measured."""
    return is_xdist_worker(config) or config.getoption("dist", "no") != "no"


def is_xdist_worker(config: pytest.Config) -> bool:
    """Whether this is one of the processes among which pytest-xdist divides the tests."""
    return hasattr(config, "workerinput")


def parse_compiler(text: str) -> str:
    """The canonical text of a compiler. A registered one must exist and have the options given; one by import string
    is found when the cases are made, since a test's folder can be imported from only then."""
    spec = CompilerSpec.parse(text)
    if ":" not in spec.name:
        compilers.resolve(str(spec))
    return str(spec)


def parse_batch_size(value: object) -> int:
    """A batch size from a mark or the command line."""
    return parse_whole("batch size", value)


def parse_whole(name: str, value: Any) -> int:
    """A whole number from 1 up, in text or as one of NumPy's too. name: what it is, for people."""
    number = int(value) if isinstance(value, str) and re.fullmatch(r"\s*\d{1,9}\s*", value) else value
    try:
        whole = 0 if isinstance(number, bool) else operator.index(number)
    except TypeError:
        whole = 0
    if whole < 1:
        raise UsageError(f"{name} {value!r} is not a whole number from 1 up.")
    return whole


def parse_thresholds(texts: Sequence[str]) -> tuple[Threshold, ...]:
    """Thresholds from a mark, the command line or the ini file."""
    if not texts:
        return ()
    from pytest_ngraph.gate import Threshold

    return tuple(Threshold.parse(text) for text in texts)


def split_compilers(text: str) -> list[str]:
    """`identity,openvino:streams=2,hint=x` is two compilers: a part with `=` but no colon continues the one before."""
    parts: list[str] = []
    for part in text.split(","):
        if parts and "=" in part and ":" not in part:
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


def _one_of(what: str, value: str, allowed: Iterable[str]) -> str:
    names = list(allowed)
    if value not in names:
        hint = "Define your own in the file that the ini key ngraph_devices names." if what == "device" else ""
        raise UsageError.unknown(what, value, names, hint)
    return value


def _settings(config: pytest.Config) -> Settings:
    memory = single(config, "memory")
    return Settings(
        budget_s=positive(config, "budget", DEFAULTS.budget_s),
        precision_target=share(config, "precision_target", DEFAULTS.precision_target),
        timeout_s=positive(config, "timeout", DEFAULTS.timeout_s),
        memory_bytes=parse_size(memory) if memory else None,
        cache=_cache(config),
        cache_bytes=parse_size(single(config, "cache_size") or f"{DEFAULTS.cache_bytes}B"),
        isolation=cast("Isolation", choice(config, "isolation", get_args(Isolation), DEFAULTS.isolation)),
        smoke=bool(config.getoption("benchmark_disable", False) and not config.getoption("benchmark_enable", False)),
    )


def _cache(config: pytest.Config) -> Path | None:
    if single(config, "cache") == "off":
        return None
    if given := path(config, "cache"):
        return given
    try:
        return compiled_folder()
    except UsageError:  # a user without a home, for whom nothing is kept
        return None


def _devices_file(config: pytest.Config) -> Path | None:
    name = config.getini("ngraph_devices")
    if not name:
        return None
    return resolved("ngraph_devices", str(name), config.inipath.parent if config.inipath else config.rootpath)
