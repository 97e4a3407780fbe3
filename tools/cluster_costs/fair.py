"""Whether clients that share devices wait for each other in turn: several sessions, begun one after another."""

from __future__ import annotations

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from cluster.remote_project import RemoteProject
from markdown_output import table

from cluster_costs.devices import names
from cluster_costs.scale import simulated
from cluster_costs.started import PATIENCE_S, cluster

MOST_SHARES = 2
HEADING = (
    "client",
    "began after, s",
    "cases",
    "session, s",
    "until its first groups are sent, s",
    "share, s",
    "longest wait for a first answer, in shares",
    "longest wait between answers, in shares",
)
PROBE = """
import json, time
from pytest_ngraph.cluster.client.link import Link
began, answers, sent = time.time(), [], []
submit = Link.submit

def noted(*arguments):
    sent.append(time.time())
    return submit(*arguments)

Link.submit = noted

def pytest_ngraph_record(record):
    answers.append((record.case.device, record.started_at))

def pytest_unconfigure():
    with open("answers.json", "w") as file:
        json.dump({"began": began, "sent": sent[0], "answers": answers}, file)
"""


def declare(commands: Any) -> None:
    parser = commands.add_parser("fair", help="how long clients of the same devices wait for each other")
    parser.add_argument("--devices", type=int, default=20, help="simulated devices; default: %(default)s")
    parser.add_argument("--clients", type=int, default=3, help="sessions at a time; default: %(default)s")
    parser.add_argument("--cases", type=int, default=6, help="cases of a session per device; default: %(default)s")
    parser.add_argument("--case-seconds", type=float, default=5.0, help="seconds per case; default: %(default)s")
    parser.add_argument("--apart", type=float, default=12.0, help="seconds between two starts; default: %(default)s")
    parser.set_defaults(find=find)


def find(folder: Path, parsed: argparse.Namespace) -> str:
    """Return a row for each client, and whether all were served as they should be.

    A client's share is the time of one case of every client. It waits from when its first groups are sent.
    """
    share_s = parsed.clients * parsed.case_seconds
    with cluster(folder) as running, simulated(running, parsed.devices, parsed.case_seconds):
        projects = [project(folder / f"client{number}", running, parsed) for number in range(parsed.clients)]
        runs = []
        for each in projects:
            runs.append((time.perf_counter(), each.start("-q")))
            if each is not projects[-1]:
                time.sleep(parsed.apart)
        rows, longest = [], 0.0
        for number, ((began, run), ours) in enumerate(zip(runs, projects, strict=True)):
            printed, _ = run.communicate(timeout=PATIENCE_S)
            seconds = time.perf_counter() - began
            if run.returncode:
                raise RuntimeError(printed)
            found = json.loads((ours.root / "answers.json").read_text())
            answers = found["answers"]
            first, later = (wait_s / share_s for wait_s in waits_s(found["sent"], answers))
            longest = max(longest, first, later)
            start_s = found["sent"] - found["began"]
            shown = (number * parsed.apart, len(answers), seconds, start_s, share_s, first, later)
            rows.append((str(number + 1), *(f"{each:.2f}" if isinstance(each, float) else str(each) for each in shown)))
    return f"{table(HEADING, rows)}\n\n{verdict(longest)}"


def verdict(longest: float) -> str:
    """Return in words whether the longest wait, in shares, is fair."""
    found = "No client" if longest <= MOST_SHARES else "A client"
    return f"{found} waited for more than {MOST_SHARES} of its shares: the longest wait was {longest:.2f}."


def project(folder: Path, running: Any, parsed: argparse.Namespace) -> RemoteProject:
    made = RemoteProject(
        folder,
        running,
        names(parsed.devices),
        workloads=[f"plain{number}" for number in range(parsed.cases)],
        compilers=["faulty:Instant"],
    )
    (made.root / "conftest.py").write_text(PROBE)
    return made


def waits_s(began: float, answers: list[tuple[str, float]]) -> tuple[float, float]:
    """Return the longest time until a device's first answer, and between two of its answers.

    Args:
        began: when the client sent its first groups.
        answers: devices and times of their answers.
    """
    first, later = [0.0], [0.0]
    for device in {name for name, _ in answers}:
        times = sorted(at for name, at in answers if name == device)
        first.append(times[0] - began)
        later += [after - before for before, after in pairwise(times)]
    return max(first), max(later)
