"""The process that measures a new anchor beside the one before it: `python -m pytest_ngraph.plugin.link_step`.

It reads a JSON object from standard input: `path` becomes `sys.path`, and `arguments` go to pytest.
"""

from __future__ import annotations

import json
import sys

import pytest

from pytest_ngraph.plugin.case_writer import INERT, MEASURING, CacheKey, run_pytest, set_options
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
    """A plugin that switches off what the options of the night ask for besides measuring."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        set_options(config, INERT | OUTPUTS | MEASURING)


def main() -> None:
    """Measure what standard input asks for."""
    die_with_parent()
    request = json.loads(sys.stdin.read())
    sys.path[:] = request["path"]
    sys.exit(run_pytest(request["arguments"], LinkStep()))


if __name__ == "__main__":
    main()
