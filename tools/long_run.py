"""Measure whether a long run grows: pytest's memory, open files, processes and temporary files, early and at its end.

python tools/long_run.py [--cases=2000] [--write]

The compiler is a fake that is measured in no time, so that the seconds per case are those beyond measuring. `--write`
puts the table into docs/robustness.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import markdown_output
from fault_project import Project

from pytest_ngraph.machine.machine import environment

PAGE = markdown_output.ROOT / "docs" / "robustness.md"
SIZES = 100
EARLY = 100
PROBE = """
import json, time
from pathlib import Path
import psutil

def pytest_ngraph_record(record, seen=[]):
    seen.append(record)
    if len(seen) in ({early}, {late}):
        process = psutil.Process()
        temporary = [path for path in Path("../temporary").rglob("*") if path.is_file()]
        figures = {{
            "seconds": time.monotonic(),
            "resident MiB": process.memory_info().rss / 2**20,
            "open files": process.num_fds(),
            "processes": len(process.children(recursive=True)),
            "threads": process.num_threads(),
            "temporary files": len(temporary),
        }}
        with open("figures.jsonl", "a") as file:
            file.write(json.dumps(figures) + "\\n")
"""


def table(cases: int) -> str:
    """Return the table of resources that a run of `cases` cases uses, early and at its end."""
    with tempfile.TemporaryDirectory() as folder:
        workloads = [f"plain{number}" for number in range(cases // SIZES)]
        project = Project(
            Path(folder), workloads=workloads, batch_sizes=range(1, SIZES + 1), compilers=["faulty:Instant"]
        )
        (project.root / "conftest.py").write_text(PROBE.format(early=EARLY, late=cases))
        status, printed = project.run("-q")
        if status:
            sys.exit(printed)
        early, late = map(json.loads, (project.root / "figures.jsonl").read_text().splitlines())
    names = [name for name in early if name != "seconds"]
    rows = [(name, f"{early[name]:.0f}", f"{late[name]:.0f}") for name in names]
    each_ms = 1000 * (late["seconds"] - early["seconds"]) / (cases - EARLY)
    found = markdown_output.table(("of pytest", f"at case {EARLY}", f"at case {cases:,}"), rows)
    return f"{found}\n\nMilliseconds per case beyond measuring: {each_ms:.1f}."


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000, help="number of cases; default: %(default)s")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.cases <= EARLY or asked.cases % SIZES:
        parser.error(f"--cases={asked.cases}: give a multiple of {SIZES} above {EARLY}")
    section = "long run" if asked.write else ""
    markdown_output.publish(environment(), table(asked.cases), section, PAGE)
