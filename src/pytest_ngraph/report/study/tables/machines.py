"""The devices and their libraries (study, Tables I and II)."""

from __future__ import annotations

import polars as pl
from packaging.version import InvalidVersion, Version

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables.table import Table
from pytest_ngraph.system.installed import LIBRARIES

SPECIFICATIONS = ("processor", "logical CPUs", "memory", "gpu", "architecture", "system", "python")
VERSIONED = ("python", "driver", *LIBRARIES)


def devices(study: Study) -> Table:
    latest = study.machines.unique(["device", "key"], keep="last", maintain_order=True)
    facts = latest.filter(pl.col("key").is_in(SPECIFICATIONS)).pivot("key", index="device", values="value")
    return Table.of(
        "devices",
        "Testbed device specifications",
        "Each device as of its newest run.",
        facts.select("device", *(key for key in SPECIFICATIONS if key in facts.columns)),
        number="I",
        missing="needs a run that recorded its environment",
    )


def libraries(study: Study) -> Table:
    latest = study.machines.unique(["device", "key"], keep="last", maintain_order=True)
    versions = latest.filter(pl.col("key").is_in(VERSIONED))
    rows = [
        (str(library), min(own["value"], key=_order), ", ".join(f"{v} ({d})" for d, v in _differing(own)))
        for (library,), own in versions.group_by("key", maintain_order=True)
    ]
    return Table.of(
        "libraries",
        "Library versions",
        "The oldest version installed on the devices; where they differ, that of each.",
        pl.DataFrame(rows, schema={"library": pl.String, "version": pl.String, "by_device": pl.String}, orient="row"),
        number="II",
        missing="needs a run that recorded its environment",
    )


def _differing(own: pl.DataFrame) -> list[tuple[str, str]]:
    """Return each device with its version, if the versions differ."""
    return own.select("device", "value").rows() if own["value"].n_unique() > 1 else []


def _order(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        return Version("0")
