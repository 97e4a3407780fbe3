"""What a cluster costs, as Markdown tables. Clusters of this machine's own are started and ended.

python tools/cluster_cost.py idle     # a device's worker that waits, beside one as the engine starts it by default
python tools/cluster_cost.py cases    # seconds per case beyond measuring, local and remote
python tools/cluster_cost.py pool     # three equal devices against one
python tools/cluster_cost.py scale    # what a client of a hundred simulated devices needs

With `--write` before the command, the table also goes into docs/cluster.md.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import telling
from cluster_costs import cases, idle, pool, scale

from pytest_ngraph.machine.machine import environment

PAGE = telling.ROOT / "docs" / "cluster.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    commands = parser.add_subparsers(required=True, dest="command", metavar="COMMAND")
    for command in (idle, cases, pool, scale):
        command.declare(commands)
    parsed = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # as Ctrl-C: clusters are ended
    with tempfile.TemporaryDirectory(prefix="ngraph-cluster-cost-") as folder:
        found = parsed.find(Path(folder), parsed)
    about = environment() | {"distributed": version("distributed")}
    telling.tell(about, found, f"cluster {parsed.command}" if parsed.write else "", PAGE)


if __name__ == "__main__":
    main()
