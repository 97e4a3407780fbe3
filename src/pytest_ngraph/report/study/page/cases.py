"""A page for each case whose time was profiled: a tree of the network's modules, with the kernels of each."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import NamedTuple

import polars as pl
from jinja2 import Environment
from markupsafe import Markup

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.explain.explanation import SLOWED
from pytest_ngraph.explain.parts import names_modules
from pytest_ngraph.explain.tree import grown
from pytest_ngraph.metrics.text import quantity
from pytest_ngraph.report.explained import titled
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures.rows import named
from pytest_ngraph.report.study.page import libraries

FOLDER = "cases"
MARK = ": where the time goes</title>"
"""What every page of a case has in it."""
LONGEST_STEM = 100
"""Bytes: a file system limits these and not the characters."""


class Link(NamedTuple):
    """A compiler of a workload.

    Attributes:
        case: the case's id.
        file: its page in `FOLDER`; empty where it has none.
        note: the share of a call that was profiled, or why nothing was.
    """

    case: str
    compiler: str
    file: str
    note: str


class Workload(NamedTuple):
    """The cases that differ only in their compiler."""

    title: str
    links: list[Link]


def workloads(study: Study) -> list[Workload]:
    """Return the cases that were profiled, or were to be, in the order of the figures, identity first."""
    known = pl.col("case").is_in([*study.profiles, *study.unprofiled])
    rows = named(study.cases.filter(known)).sort(pl.col("compiler") != IDENTITY, maintain_order=True)
    return [
        Workload(f"{network}, batch {batch_size} on {place}", [_link(study, *case) for case in group.rows()])
        for (place, network, batch_size), group in rows.select("place", "network", "batch_size", "case", "compiler")
        .partition_by("place", "network", "batch_size", maintain_order=True, as_dict=True, include_key=False)
        .items()
    ]


def write(study: Study, environment: Environment, folder: Path) -> list[Path]:
    """Write the pages into `FOLDER` in the folder of a report. Return the files.

    Those of cases that only an earlier report had are removed.
    """
    template = environment.get_template("case.html")
    written = []
    for workload in workloads(study):
        for link in workload.links:
            if kept := study.profiles.get(link.case):
                (folder / FOLDER).mkdir(exist_ok=True)
                path = folder / FOLDER / link.file
                page = template.render(
                    case=link.case,
                    workload=workload,
                    profile=kept,
                    names_modules=names_modules(kept),
                    is_slowed=kept.coverage > SLOWED,
                    branches=grown(kept),
                    whole_s=max(kept.latency_s, sum(kernel.seconds for kernel in kept.kernels)),
                    quantity=quantity,
                    titled=titled,
                    styles=Markup(libraries.own("page.css") + libraries.own("case.css")),
                )
                path.write_text(page, encoding="utf-8")
                written.append(path)
    for path in set((folder / FOLDER).glob("*.html")).difference(written):
        if MARK in path.read_text(encoding="utf-8", errors="replace"):
            path.unlink()
    return written


def _link(study: Study, case: str, compiler: str) -> Link:
    if case in study.unprofiled:
        return Link(case, compiler, "", study.unprofiled[case])
    return Link(case, compiler, file_of(case), f"{100 * study.profiles[case].coverage:.0f} %")


def file_of(case: str) -> str:
    """Return the name of a case's page: its id, with a digest where that is no name of a file everywhere."""
    stem = re.sub(r"[^\w.,=-]", "_", case).encode()[:LONGEST_STEM].decode(errors="ignore")
    return f"{stem}.html" if stem == case else f"{stem}-{zlib.crc32(case.encode()):08x}.html"
