"""Measure the costs of a cluster, as Markdown tables. The clusters are started and ended on this machine.

python tools/cluster_cost.py idle     # a device's worker that waits, beside one with Dask's defaults
python tools/cluster_cost.py cases    # seconds per case beyond measuring, local and remote
python tools/cluster_cost.py pool     # three equal devices against one
python tools/cluster_cost.py scale    # resources of a client with a hundred simulated devices
python tools/cluster_cost.py fair     # three clients that share twenty simulated devices
python tools/cluster_cost.py quiet    # a measurement while another client sends 256 MiB to the same device

With `--write` before the command, the table also goes into docs/cluster-cost.md.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import markdown_output
from cluster_costs import cases, fair, idle, pool, quiet, scale

from pytest_ngraph.machine.machine import environment

PAGE = markdown_output.ROOT / "docs" / "cluster-cost.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    commands = parser.add_subparsers(required=True, dest="command", metavar="COMMAND")
    for command in (idle, cases, pool, scale, fair, quiet):
        command.declare(commands)
    parsed = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # so that clusters are ended, as after Ctrl-C
    with tempfile.TemporaryDirectory(prefix="ngraph-cluster-cost-") as folder:
        found = parsed.find(Path(folder), parsed)
    about = environment() | {"distributed": version("distributed")}
    markdown_output.publish(about, found, f"cluster {parsed.command}" if parsed.write else "", PAGE)


if __name__ == "__main__":
    main()
