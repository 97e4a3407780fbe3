"""Write what `pytest-ngraph device list` prints into docs/cluster.md: python tools/device_list.py [--write].

A head and a device with addresses of their own are started on this machine, which needs network namespaces.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import markdown_output
from cluster.certificates import issued, options_for
from cluster.network import Network, unavailable
from cluster.processes import COMMAND, Cluster

from pytest_ngraph.machine.machine import environment

PAGE = markdown_output.ROOT / "docs" / "cluster.md"
SECTION = "device list"
DEVICE = "xeon"


def listed(folder: Path) -> str:
    """Return what is printed about a device. Raises `RuntimeError` if that fails."""
    network = Network([DEVICE])
    cluster = Cluster(folder, network, options_for(issued(folder / "certificates")), start=COMMAND)
    try:
        cluster.start(DEVICE)
        found = cluster.run("device", "list")
        if found.returncode:
            raise RuntimeError(found.stderr)
        return found.stdout
    finally:
        cluster.close()
        network.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write it into docs/cluster.md")
    parsed = parser.parse_args()
    if reason := unavailable():
        sys.exit(reason)
    with tempfile.TemporaryDirectory(prefix="ngraph-device-list-") as folder:
        found = listed(Path(folder))
    about = environment() | {"distributed": version("distributed")}
    markdown_output.publish(about, f"```text\n{found}```", SECTION if parsed.write else "", PAGE)


if __name__ == "__main__":
    main()
