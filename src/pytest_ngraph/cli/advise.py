"""`pytest-ngraph advise`: what to deploy of a workload on this machine, under limits."""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph import compilers, workloads
from pytest_ngraph.case import OBJECTIVES, PRECISIONS, SERVING, Case, CompilerSpec, split_compilers
from pytest_ngraph.cli.arguments import (
    INTERRUPTED,
    above_zero,
    add_store,
    checked,
    columns,
    count,
    counts,
    seconds,
    size,
)  # fmt: skip
from pytest_ngraph.cli.live import Live
from pytest_ngraph.cli.project import add_devices, import_as_pytest, inventory, store_folder
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.devices import Device, known
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.settings import Settings
from pytest_ngraph.sizes import listed_sizes
from pytest_ngraph.store import LATEST, check_writable, run_ids, unfinished
from pytest_ngraph.system.files import compiled_folder
from pytest_ngraph.system.user_functions import check_found, check_score
from pytest_ngraph.workloads.imported import Imported

if TYPE_CHECKING:
    from pytest_ngraph.advise.answer import Answer
    from pytest_ngraph.advise.candidates import Axes
    from pytest_ngraph.advise.limits import Limits

OFFERED = tuple(each for each in OBJECTIVES if each != SERVING)
"""Objectives to race for: under load a single candidate takes minutes."""
NOTHING_KEEPS_THE_LIMITS = 1
NOT_KNOWN = 3
"""Nothing is known to keep the limits, and something may. 2 is for mistakes in the command."""


def declare(commands: Any) -> None:
    parser = commands.add_parser(
        "advise",
        help="find what to deploy of a workload on this machine, under limits",
        description="Race compilers, their options, batch sizes, precisions and threads against each other within a "
        "budget of time, and say what to deploy, how sure that is, and what it costs beside the others.",
    )
    parser.add_argument("workload", metavar="WORKLOAD", help="resnet18, conv, net.onnx, package.module:function")
    add = parser.add_argument
    add("--p99", type=seconds, metavar="TIME", help="most that 99 in 100 single calls may take: 20ms")
    add("--max-memory", type=size, metavar="SIZE", help="most memory of a process that only serves: 512MiB")
    add("--max-error", type=above_zero, metavar="SHARE", help="largest difference from eager PyTorch: 1e-2")
    add("--min-throughput", type=above_zero, metavar="N", help="fewest samples per second")
    add("--score", type=checked(check_score), metavar="FUNCTION", help="package.module:function to score outputs by")
    add("--min-score", type=_number, metavar="SCORE", help="lowest score that is allowed")
    add("--cold-start", type=seconds, metavar="TIME", help="most from the start of a process to its first answer: 2s")
    add("--budget", type=seconds, default=300.0, metavar="TIME", help="time for all of it; default: 5min")
    add("--device", default="cpu", metavar="NAME", help="device profile; default: cpu")
    add_devices(parser)
    add("--compiler", type=_compilers, metavar="NAME[,NAME...]", help="default: all that are installed")
    add("--batch-size", type=counts, default=(1,), metavar="N[,N...]", help="default: 1")
    add("--precision", type=_precisions, default=("fp32",), metavar="NAME[,NAME...]", help="allowed; default: fp32")
    add("--threads", type=counts, metavar="N[,N...]", help="default: those of the device")
    add("--objective", choices=OFFERED, default="latency", help="default: latency, single calls")
    add("--depth", type=count, metavar="N", help="depth of a block")
    add("--width", type=count, metavar="N", help="width of a block")
    add("--size", action="append", default=[], metavar="AXIS=N", help="size of an axis of your own; repeatable")
    add("--resume", nargs="?", const=LATEST, default="", metavar="RUN", help="default: the newest unfinished race")
    add_store(parser)
    add("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    _check_options(parsed)
    axes, limits = _axes(parsed), _limits(parsed)
    _check_store(parsed)

    from pytest_ngraph.advise.answer import answer
    from pytest_ngraph.advise.measuring import measuring
    from pytest_ngraph.advise.race import Race
    from pytest_ngraph.against.processes import known_of

    between = known_of({this_machine().fingerprint}, parsed.store)
    live = Live(sys.stderr)
    settings = Settings(cache=compiled_folder())
    run_id = ""
    try:
        with measuring(
            parsed.store, settings, axes.devices, between, live, parsed.workload, parsed.resume, limits
        ) as measure:
            run_id = measure.run_id
            race = Race(axes, limits, measure, parsed.budget, between, measure.elapsed_s)
            found = answer(race.run(), race.named, limits, between, run_id, settings.indifference)
    except KeyboardInterrupt:
        live.end(f"interrupted. {_next_step(parsed, run_id)}")
        return INTERRUPTED
    live.end("")
    _print(found, parsed)
    return status_of(found)


def status_of(found: Answer) -> int:
    """Return the exit status."""
    if found.pick:
        return 0
    return NOT_KNOWN if found.is_unknown else NOTHING_KEEPS_THE_LIMITS


def _check_options(parsed: argparse.Namespace) -> None:
    """Raise `UsageError` for options that do not fit together."""
    if parsed.p99 and parsed.objective != "latency":
        raise UsageError("--p99: with --objective=throughput, calls run side by side, and none has a time. Give one.")
    if parsed.min_score is not None and not parsed.score:
        raise UsageError("--min-score needs a function that scores the outputs: --score=package.module:function.")


def _axes(parsed: argparse.Namespace) -> Axes:
    """Return what is raced. Raises `UsageError` for what does not exist or cannot be measured here."""
    from pytest_ngraph.advise.candidates import Axes

    import_as_pytest()
    devices = _devices(parsed)
    chosen = _chosen_compilers(parsed, devices[0].kind)
    case = _case(parsed, chosen[0])
    workloads.check(case)
    if isinstance(workloads.family(case.workload), Imported):
        check_found(case.workload, "workload")
    if parsed.score:
        check_found(parsed.score, "score")
    return Axes(
        case=case,
        compilers=chosen,
        batch_sizes=parsed.batch_size,
        precisions=parsed.precision,
        devices=devices,
        objective=parsed.objective,
    )


def _limits(parsed: argparse.Namespace) -> Limits:
    from pytest_ngraph.advise.limits import Limits

    return Limits(
        p99_s=parsed.p99,
        memory_bytes=parsed.max_memory,
        error=parsed.max_error,
        throughput=parsed.min_throughput,
        score=parsed.min_score,
        cold_start_s=parsed.cold_start,
    )


def _check_store(parsed: argparse.Namespace) -> None:
    """Raise `StoreError` for a store that cannot be written, and `UsageError` where it lacks the run to resume."""
    check_writable(parsed.store)
    if parsed.resume == LATEST and unfinished(parsed.store, parsed.workload) is None:
        print(
            f"pytest-ngraph: no race of {parsed.workload} in {parsed.store} is unfinished; a new one begins",
            file=sys.stderr,
        )
    elif parsed.resume not in ("", LATEST) and parsed.resume not in (ids := run_ids(parsed.store)):
        hint = "--resume takes the next word for a run: write it behind the workload."
        raise UsageError.unknown("run", parsed.resume, ids[-10:], hint)


def _print(found: Answer, parsed: argparse.Namespace) -> None:
    from pytest_ngraph.advise.lines import lines

    if parsed.json:
        print(json.dumps(found.to_dict()))
    else:
        given = (("--store", parsed.store, store_folder(Path.cwd())), ("--devices", parsed.devices, None))
        options = "".join(f" {shlex.quote(f'{name}={value}')}" for name, value, default in given if value != default)
        print("\n".join(lines(found, columns(), options)))


def _next_step(parsed: argparse.Namespace, run_id: str) -> str:
    """Return how an interrupted race is resumed: by the whole command, as other options would ask something else."""
    if run_id not in run_ids(parsed.store):
        return "Nothing was measured so far."
    words = [word for word in parsed.words if not word.startswith("--resume=")]
    return f"To resume: {shlex.join(['pytest-ngraph', *words, f'--resume={run_id}'])}"


def _devices(parsed: argparse.Namespace) -> list[Device]:
    """Return the device with each number of threads. Raises `UsageError` for one that this machine is not."""
    device = known(inventory(parsed), parsed.device)
    devices = [device.with_threads(threads) for threads in parsed.threads or ()] or [device]
    for each in devices:
        if absent := each.absent():
            raise UsageError(f"{absent}. Ask for advice on the device itself.")
    return devices


def _chosen_compilers(parsed: argparse.Namespace, kind: str) -> list[str]:
    """Return the compilers to try. Raises `UsageError` for one that cannot be loaded here."""
    from pytest_ngraph.advise.candidates import installed

    if not parsed.compiler:
        return list(installed(kind, parsed.objective))
    for compiler in parsed.compiler:
        if missing := compilers.missing_library(compiler):
            raise UsageError(missing)
    return list(parsed.compiler)


def _case(parsed: argparse.Namespace, compiler: str) -> Case:
    """Return the workload with one value of each of its axes. Raises `UsageError` where an axis has several."""
    sizes = listed_sizes(parsed.size)
    for axis, values in sizes.items():
        if len(values) > 1:
            raise UsageError(f"--size {axis}={','.join(map(str, values))}: advice is for one size. Give one of them.")
    return Case(
        workload=parsed.workload,
        compiler=compiler,
        batch_size=parsed.batch_size[0],
        depth=parsed.depth,
        width=parsed.width,
        sizes=tuple(sorted((axis, values[0]) for axis, values in sizes.items())),
        device=parsed.device,
        scored_by=parsed.score or "",
    )


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number.")
    return number


def _precisions(text: str) -> Sequence[str]:
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for each in found:
        if each not in PRECISIONS:
            raise argparse.ArgumentTypeError(f"{each!r} is not a precision. Allowed: {', '.join(PRECISIONS)}.")
    return found


@checked
def _compilers(text: str) -> Sequence[str]:
    return tuple(dict.fromkeys(str(CompilerSpec.parse(part)) for part in split_compilers(text)))
