"""Compile ahead: into the cache, while other processes compile as well and nothing is timed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Literal

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import searches
from pytest_ngraph.machine.source_files import FilesRead
from pytest_ngraph.worker.cache import Cache
from pytest_ngraph.worker.prepare import cache_inputs, prepare

Became = Literal["compiled", "cached", "left"]
"""What became of a case: compiled now, found in the cache, or left until its group is measured."""


def compile_ahead(
    case: Case, artifact: Artifact, target: Target, cache: Cache, files: FilesRead, *, looks_only: bool = False
) -> Became:
    """Compile a model into the cache, unless it is there, and verify its outputs.

    A compiler that keeps the fastest of several alternatives is left: beside other processes it would keep another one.
    So is a model whose outputs disagree, which fails when it is measured.

    Args:
        files: what this process has read.
        looks_only: only look whether the cache has it, which imports no libraries.

    Raises:
        Unsupported: a library is missing, or the compiler cannot convert or run the artifact.
    """
    if artifact.digest and cache.find(cache_inputs(case, artifact, target)):
        return "cached"
    if looks_only or not artifact.digest or searches(case.compiler):
        return "left"
    with tempfile.TemporaryDirectory(prefix="ngraph-ahead-") as folder:
        ready = prepare(case, artifact, target, Path(folder), cache, files, timed=False)
        try:
            return "compiled" if ready.verify().agrees else "left"
        finally:
            ready.model.close()
