"""Does a long run grow? Memory, open files, processes and temporary files of pytest, early in a run and at its end.

python tools/long_run.py --cases 2000

The compiler is measured in no time, so that the seconds a case takes are those beyond measuring.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from faults.project import Project

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


def main(cases: int) -> None:
    """Run so many cases and print the figures."""
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
        print(f"{'':16}  case {EARLY:>5}  case {cases:>5}")
        for name in sorted(early.keys() - {"seconds"}):
            print(f"{name:16}  {early[name]:10.0f}  {late[name]:10.0f}")
        print(f"seconds per case beyond measuring: {(late['seconds'] - early['seconds']) / (cases - EARLY):.4f}")
        print(f"records: {len(project.records)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000, help="how many cases; default: %(default)s")
    main(parser.parse_args().cases)
