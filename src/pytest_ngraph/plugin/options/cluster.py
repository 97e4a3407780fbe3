"""Options of the cluster: which scheduler to reach, and with which certificates."""

from __future__ import annotations

from functools import partial

import pytest

from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.errors import UsageError
from pytest_ngraph.plugin.options.reading import ONE, Declare, is_on, lines, named, path, value
from pytest_ngraph.session.options import ClusterOptions
from pytest_ngraph.sizes import parse_number

DEFAULTS = ClusterOptions()


def declare(add: Declare) -> None:
    """Add the options and their ini keys."""
    add(
        "--ngraph-scheduler",
        "ngraph_scheduler",
        "Measure on the devices of the cluster that this scheduler has: tls://head:8786",
        metavar="ADDRESS",
        **ONE,
    )
    for name, what in (("ca", "The authority's certificate"), ("cert", "This user's certificate"), ("key", "Its key")):
        add(f"--ngraph-tls-{name}", f"ngraph_tls_{name}", f"{what}, a file in PEM", metavar="FILE", **ONE)
    add(
        "--ngraph-insecure-cluster",
        "ngraph_insecure_cluster",
        "Reach a scheduler on another machine without encryption: whoever reaches it can run code on every device",
        kind="bool",
        action="store_true",
    )
    add(
        "--ngraph-wait-for-devices",
        "ngraph_wait_for_devices",
        "Seconds to wait for devices that are not in the cluster yet. Default: 0",
        metavar="SECONDS",
        **ONE,
    )
    add(
        "--ngraph-send",
        "ngraph_send",
        "Send only those files to devices whose path in the project matches this pattern; may be given several times. "
        "A file named in full is sent even if it looks like a secret. Default: what git would track, except secrets",
        kind="linelist",
        action="append",
        metavar="PATTERN",
    )
    add(
        "--ngraph-dry-run",
        "ngraph_dry_run",
        "List the files that would be sent to devices, and those that look like secrets and would not, and exit",
        kind="bool",
        action="store_true",
    )


def read(config: pytest.Config, gate: GateOptions) -> ClusterOptions:
    """Return the options of this run. Raises `UsageError` for values that do not fit together."""
    scheduler = named(config, "scheduler")
    if scheduler and (gate.calibrate or gate.against_python):
        flag = "--ngraph-calibrate" if gate.calibrate else "--ngraph-against-python"
        raise UsageError(f"{flag} is for one machine. Run it on the device itself, without --ngraph-scheduler.")
    return ClusterOptions(
        scheduler=scheduler,
        tls_ca=_file(config, "tls_ca"),
        tls_cert=_file(config, "tls_cert"),
        tls_key=_file(config, "tls_key"),
        insecure=is_on(config, "insecure_cluster"),
        wait_s=value(config, "wait_for_devices", partial(parse_number, or_zero=True), DEFAULTS.wait_s),
        send=tuple(lines(config, "ngraph_send")),
    )


def _file(config: pytest.Config, name: str) -> str:
    return str(path(config, name) or "")
