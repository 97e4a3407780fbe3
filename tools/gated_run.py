"""Show where the wall time of a gated run goes: bursts, warming up, compiling, exporting, importing, waiting.

    python tools/gated_run.py [--networks=4] [--compilers=torchscript,onnxruntime,openvino,tvm] [--rows=0] [--write]

A test repository has networks of `tools/gate.py` under each of the compilers. Every network changed: its weights are
others than in the base, so that every case is measured. `--rows` gives all networks but one that many excess rows to
compute, which makes them slower. `--write` puts the table into docs/gate-measured.md.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import markdown_output
from gate_trials import timeline
from gate_trials.matrix import Matrix
from gate_trials.pytest_run import output_of

from pytest_ngraph import store
from pytest_ngraph.machine.machine import environment
from pytest_ngraph.wording import counted

PAGE = markdown_output.ROOT / "docs" / "gate-measured.md"
COMPILERS = ("torchscript", "onnxruntime", "openvino", "tvm")


class Profile(NamedTuple):
    """Where the time of a run went.

    Attributes:
        wall_s: seconds of the whole run, from starting pytest to its end.
        seconds: seconds by kind of `timeline.KINDS`.
        launches: launches of each case, the first included.
    """

    wall_s: float
    seconds: dict[str, float]
    launches: tuple[int, ...]


def profile(repository: Matrix, options: Sequence[str] = ()) -> Profile:
    """Run the gate once, and return where its time went."""
    spans = repository.head.parent / "timeline.json"
    started = time.monotonic()
    output_of(
        repository.head,
        "-p",
        "timeline",
        "test_gate.py",
        "--ngraph-against=HEAD~1",
        "--ngraph-inconclusive=pass",
        *options,
        environment={timeline.VARIABLE: str(spans), "PYTHONPATH": _path(Path(timeline.__file__).parent)},
    )
    wall_s = time.monotonic() - started
    seconds = timeline.seconds([(kind, start, end) for kind, start, end in json.loads(spans.read_text())])
    seconds["the rest"] += wall_s - sum(seconds.values())
    records = store.read(repository.head / ".ngraph").records
    launches = tuple(len(record.comparison.launches) for record in records if record.comparison)
    return Profile(wall_s, seconds, launches)


def report(found: Profile, what: str) -> str:
    """Return the profile as Markdown."""
    rows = [
        [f"{kind} ({timeline.KINDS[kind]})", f"{seconds:.1f} s", f"{100 * seconds / found.wall_s:.0f} %"]
        for kind, seconds in found.seconds.items()
    ]
    rows.append(["all", f"{found.wall_s:.1f} s", "100 %"])
    launches = f"{counted(sum(found.launches), 'launch', 'launches')} of {counted(len(found.launches), 'case')}"
    return f"{what}: {launches}.\n\n{markdown_output.table(['what the run does', 'seconds', 'share'], rows)}"


def _path(folder: Path) -> str:
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing is left behind, as after Ctrl-C
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=4)
    parser.add_argument("--compilers", type=lambda text: text.split(","), default=list(COMPILERS))
    parser.add_argument("--rows", type=int, default=0, help="excess rows of all networks but one")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ngraph-run-") as folder:
        matrix = Matrix(Path(folder), networks=asked.networks, compilers=asked.compilers, rows=asked.rows)
        found = profile(matrix)
    what = f"{counted(asked.networks, 'network')} under {', '.join(asked.compilers)}, all with other weights"
    if asked.rows:
        what += f", {asked.networks - 1} of them with {asked.rows} excess rows"
    markdown_output.publish(environment(), report(found, what), "gated run" if asked.write else "", PAGE)


if __name__ == "__main__":
    main()
