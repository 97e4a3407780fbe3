"""Cases as this folder's code builds them, without anything compiled or timed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from pytest_ngraph.bench.beside_base.base_builds import BaseBuilds, Unbuilt
from pytest_ngraph.bench.beside_base.differing import Side
from pytest_ngraph.bench.conditions import Conditions
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.bench.processes.workers import workers_alone
from pytest_ngraph.case import Case
from pytest_ngraph.system.child import search_path


def built(
    cases: Iterable[Case],
    conditions: Conditions,
    instead_of: tuple[Path, Path],
    folder: Path,
    own_path: Sequence[Path] = (),
) -> dict[Case, Side | Unbuilt]:
    """Build each case in a worker process, and return what its compiler would start from, or why there is nothing.

    Args:
        instead_of: this folder's copy of a repository, and the repository itself, from which nothing may be imported.
        folder: where the artifacts are written.
        own_path: as in `Home`.
    """
    home = Home(folder=Path.cwd(), path=search_path(), own_path=own_path)
    settings = conditions.settings
    with (
        workers_alone(partial(print, file=sys.stderr), settings.memory_bytes, home) as (workers, _),
        closing(BaseBuilds(home, workers, conditions.target, settings.timeout_s, folder, instead_of)) as builds,
    ):
        return {case: builds.built(case) for case in cases}
