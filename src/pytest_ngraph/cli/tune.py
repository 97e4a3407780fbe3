"""`pytest-ngraph tune`: searches for faster schedules of TVM's kernels, outside of a measuring run."""

from __future__ import annotations

import argparse
import itertools
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from pytest_ngraph import compilers, workloads
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.case import Case, CompilerSpec
from pytest_ngraph.cli.arguments import INTERRUPTED, count, counts
from pytest_ngraph.cli.live import Live
from pytest_ngraph.cli.project import add_devices, import_as_pytest, inventory
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.devices import Device, known
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings
from pytest_ngraph.sizes import TAKE_SIZES, listed_sizes
from pytest_ngraph.system.files import compiled_folder

STUDY_TRIALS, STUDY_PATIENCE = 1500, 150


def declare(commands: Any) -> None:
    parser = commands.add_parser(
        "tune",
        help="search for faster schedules of TVM's kernels",
        description="Search for faster schedules of TVM's kernels, outside of a measuring run. Every trial is kept on "
        "disk: a search that was interrupted or killed continues from there when it is started again.",
    )
    parser.add_argument("workloads", nargs="+", metavar="WORKLOAD", help="resnet18, conv, package.module:function")
    parser.add_argument("--batch-size", type=counts, default=(1,), metavar="N[,N...]", help="default: 1")
    parser.add_argument("--depth", type=counts, default=(None,), metavar="N[,N...]", help="depth of blocks")
    parser.add_argument("--width", type=counts, default=(None,), metavar="N[,N...]", help="width of blocks")
    parser.add_argument(
        "--size", action="append", default=[], metavar="AXIS=N[,N...]", help="sizes of your own axes; repeatable"
    )
    parser.add_argument("--device", default="cpu", metavar="NAME", help="device profile; default: cpu")
    add_devices(parser)
    parser.add_argument(
        "--trials",
        type=count,
        default=STUDY_TRIALS,
        metavar="N",
        help="schedules to try for each workload, including those of earlier searches; default: %(default)s",
    )
    parser.add_argument(
        "--patience",
        type=count,
        default=STUDY_PATIENCE,
        metavar="N",
        help="end a search after this many schedules without gain; default: %(default)s",
    )
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    device = _device(parsed)
    compiler = _compiler(parsed)
    import_as_pytest()
    cases = list(_cases(parsed, compiler, device))
    live = Live(sys.stdout)
    settings = Settings(smoke=True, cache=compiled_folder())
    try:
        with _interruptible_once(), closing(Bench(settings, device.target, live)) as bench:
            records = [_tuned(bench, case, live) for case in cases]
    except KeyboardInterrupt:
        live.end(f"interrupted: {live.last or 'nothing was started'}. The same command continues from there.")
        return INTERRUPTED
    if any(record.outcome != "measured" for record in records):
        return 1
    live.end(f"To measure them: pytest --compiler=tvm,{compiler}")
    return 0


def _cases(parsed: argparse.Namespace, compiler: str, device: Device) -> Iterator[Case]:
    """Yield a case for every combination of workload and sizes.

    Raises:
        UsageError: a size cannot be read, or no workload takes sizes.
    """
    axes = listed_sizes(parsed.size)
    takes = [workload for workload in parsed.workloads if "sizes" in workloads.taken(workload)]
    if axes and not takes:
        raise UsageError(
            f"--size {', '.join(axes)}: {', '.join(parsed.workloads)} has no such axis. Only {TAKE_SIZES} take sizes."
        )
    for workload in parsed.workloads:
        own = axes if workload in takes else {}
        combined = itertools.product(parsed.batch_size, parsed.depth, parsed.width, *own.values())
        for batch_size, depth, width, *values in combined:
            yield Case(
                workload=workload,
                compiler=compiler,
                batch_size=batch_size,
                depth=depth,
                width=width,
                sizes=tuple(sorted(zip(own, values, strict=True))),
                device=device.name,
            )


def _tuned(bench: Bench, case: Case, live: Live) -> Record:
    (record,) = bench.run([case])
    live.end(f"{case.group_label}: {_outcome(record)}")
    return record


def _outcome(record: Record) -> str:
    if record.failure:
        return f"failed in {record.failure.phase}: {record.failure.message}\n{record.failure.stderr_tail}".rstrip()
    if record.outcome == "skipped":
        return record.skip_reason
    return f"{record.facts['trials']} trials done, {record.facts['kernels']}"


def _compiler(parsed: argparse.Namespace) -> str:
    """Return TVM with these trials, spelled as in a measuring run, so that the run finds what is compiled here."""
    missing = compilers.missing_library("tvm")
    if missing:
        raise UsageError(missing)
    patience = () if parsed.patience == STUDY_PATIENCE else (("patience", str(parsed.patience)),)
    return str(CompilerSpec("tvm", (*patience, ("trials", str(parsed.trials)))))


def _device(parsed: argparse.Namespace) -> Device:
    device = known(inventory(parsed), parsed.device)
    if absent := device.absent():
        raise UsageError(f"{absent}. Tune on the device itself.")
    return device


@contextmanager
def _interruptible_once() -> Iterator[None]:
    """Let the first Ctrl-C end the block, and ignore later ones while it cleans up."""

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
