"""Options of a device's limits: when it refuses to measure, and how much it keeps on disk."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pytest_ngraph.cli.arguments import above_zero, size

if TYPE_CHECKING:
    from pytest_ngraph.cluster.device.policy import Policy
    from pytest_ngraph.cluster.device.quotas import Quotas

OPTIONS = {
    "max_temperature": ("CELSIUS", "refuse to measure above this temperature, after ten minutes of cooling down"),
    "min_disk": ("SIZE", "refuse to measure with less free disk space, such as 2GiB"),
    "min_memory": ("SIZE", "refuse to measure with less available memory, such as 512MiB"),
    "min_battery": ("PERCENT", "refuse to measure with less charge, if the machine runs on its battery"),
    "keep_results": ("SIZE", "the most that kept results may have; the oldest runs go first; default: 1GiB"),
    "keep_projects": ("SIZE", "the most that unpacked projects may have; default: 4GiB"),
    "keep_compiled": ("SIZE", "the most that the user's cache of compiled artifacts may have; default: 10GiB"),
}


def declare(parser: argparse.ArgumentParser) -> None:
    for name, (unit, help_) in OPTIONS.items():
        type_ = size if unit == "SIZE" else above_zero
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=unit, type=type_, help=help_)


def policy(parsed: argparse.Namespace) -> Policy:
    """Return when the device refuses to measure."""
    from pytest_ngraph.cluster.device.policy import Policy

    return Policy(
        max_temperature_c=parsed.max_temperature,
        min_disk_bytes=parsed.min_disk,
        min_memory_bytes=parsed.min_memory,
        min_battery_percent=parsed.min_battery,
    )


def quotas(parsed: argparse.Namespace) -> Quotas:
    """Return how much the device keeps on disk."""
    from pytest_ngraph.cluster.device.quotas import Quotas

    given = {
        "results_bytes": parsed.keep_results,
        "projects_bytes": parsed.keep_projects,
        "compiled_bytes": parsed.keep_compiled,
    }
    return Quotas(**{name: value for name, value in given.items() if value is not None})


def as_typed(parsed: argparse.Namespace) -> list[str]:
    """Return the options as they would be typed again."""
    given = {name: getattr(parsed, name) for name in OPTIONS}
    return [f"--{name.replace('_', '-')}={_typed(value)}" for name, value in given.items() if value is not None]


def _typed(value: float) -> str:
    return f"{value}B" if isinstance(value, int) else f"{value:g}"
