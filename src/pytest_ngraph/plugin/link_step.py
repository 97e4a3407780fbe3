"""The process that measures a new anchor beside the one before it: `python -m pytest_ngraph.plugin.link_step`.

It reads a JSON object from standard input: `path` becomes `sys.path`, `arguments` go to pytest, and of
its cases those are measured whose ids are among `cases`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection

import pytest

from pytest_ngraph.plugin.case_writer import INERT, MEASURING, CacheKey, run_pytest, set_options
from pytest_ngraph.plugin.items import case_of
from pytest_ngraph.system.child import die_with_parent

OUTPUTS: dict[str, object] = {
    "ngraph_report": None,
    "ngraph_summary": None,
    "ngraph_resume": None,
    "benchmark_json": None,
    "benchmark_autosave": False,
    "benchmark_save": None,
}
"""Options of the night that are not this run's: files that it writes, and the run that it resumes."""


class LinkStep(CacheKey):
    """A plugin that leaves some cases, and switches off what the options of the night ask for besides measuring."""

    def __init__(self, cases: Collection[str]) -> None:
        self._cases = cases

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        set_options(config, INERT | OUTPUTS | MEASURING)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = [item for item in items if (case := case_of(item)) is not None and case.id in self._cases]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def main() -> None:
    """Measure what standard input asks for."""
    die_with_parent()
    request = json.loads(sys.stdin.read())
    sys.path[:] = request["path"]
    sys.exit(run_pytest(request["arguments"], LinkStep(set(request["cases"]))))


if __name__ == "__main__":
    main()
