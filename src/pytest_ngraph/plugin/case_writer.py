"""The process that collects a base's tests and writes their cases: `python -m pytest_ngraph.plugin.case_writer`.

It reads a JSON object from standard input: `path` becomes `sys.path`, `arguments` go to pytest, and `renamed` maps
places of files that the arguments may mean to their places here. The file `file` gets a JSON line
`{"nodeid", "case", "selected"}` for each case, `{"failed": nodeid, "reason"}` for what cannot be collected, and
`{"finished": true, "path"}` at the end, with what `sys.path` has become.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import pytest

from pytest_ngraph.against.revision.collecting import reason
from pytest_ngraph.plugin.collection import AT_BASE, MISTAKES
from pytest_ngraph.plugin.items import case_of
from pytest_ngraph.system.child import search_path


def set_options(config: pytest.Config, values: Mapping[str, object]) -> None:
    """Set those of these options that there are."""
    for name, value in values.items():
        if hasattr(config.option, name):
            setattr(config.option, name, value)


def run_pytest(arguments: Sequence[str], plugin: object) -> int:
    """Run pytest with one more plugin, and return its exit status.

    This process has imported the package before pytest could rewrite its assertions. pytest warns of that, which ends
    the run where the project makes errors of warnings.
    """
    return pytest.main(["-W", IMPORTED_BEFORE, *arguments], plugins=[plugin])


class CacheKey:
    """A plugin that declares the key of pytest's cache, which a child's arguments set."""

    def pytest_addoption(self, parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
        """Declare it where the cache is switched off, because `--strict-config` refuses unknown keys."""
        if not pluginmanager.hasplugin("cacheprovider"):
            parser.addini("cache_dir", "Nothing, without the cache", default=None)


class CaseWriter(CacheKey):
    """A plugin that writes the cases of all collected tests, and switches off what else the options ask for."""

    def __init__(self, out: TextIO, renamed: Mapping[str, str]) -> None:
        self._out = out
        self._renamed = {Path(new): Path(old) for new, old in renamed.items()}
        self._nodes: dict[str, str] = {}
        self._selection: list[tuple[Path, str]] = []
        self._deselected: list[pytest.Item] = []
        self._depends_on_history = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[AT_BASE] = True
        self._depends_on_history = any(getattr(config.option, name, False) for name in BY_HISTORY)
        set_options(config, INERT)
        self._nodes = {node(old, config.rootpath): node(new, config.rootpath) for new, old in self._renamed.items()}
        if not config.option.pyargs:
            self._widen(config)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._deselected += items

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(failed=self._nodeid(report.nodeid), reason=reason(report.longreprtext))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for mistake in session.config.stash.get(MISTAKES, []):
            nodeid, _, text = mistake.partition(": ")
            self._write(failed=self._nodeid(nodeid), reason=text)
        for item in session.items:
            self._write_case(item, selected=self._asked_for(item))
        for item in self._deselected:
            self._write_case(item, selected=False)
        self._write(finished=True, path=search_path())

    def _widen(self, config: pytest.Config) -> None:
        """Collect whole files, where they exist.

        Another revision may have other tests and parameters in them, and pytest refuses a file or test that is
        missing. A file that has another place here is among them.
        """
        self._selection = selection(config, self._renamed)
        config.args = whole_files(self._selection)

    def _asked_for(self, item: pytest.Item) -> bool:
        """Whether one of the arguments includes this test, as far as this process can know."""
        if self._depends_on_history:
            return False
        own = item.nodeid.partition("::")[2]
        return not self._selection or any(
            item.path.is_relative_to(path) and (not name or own == name or own.startswith((f"{name}::", f"{name}[")))
            for path, name in self._selection
        )

    def _write_case(self, item: pytest.Item, *, selected: bool) -> None:
        case = case_of(item)
        if case is not None:
            self._write(nodeid=self._nodeid(item.nodeid), case=case.to_dict(), selected=selected)

    def _nodeid(self, own: str) -> str:
        """Return a node id with the place of its file that the arguments mean."""
        file, colons, name = own.partition("::")
        return f"{self._nodes.get(file, file)}{colons}{name}"

    def _write(self, **line: Any) -> None:
        self._out.write(json.dumps(line) + "\n")
        self._out.flush()


def selection(config: pytest.Config, renamed: Mapping[Path, Path]) -> list[tuple[Path, str]]:
    """Return the files and folders that the arguments mean, each with the name behind its `::`.

    Args:
        renamed: the place here of each file that has another place where the arguments come from, by that place.
    """
    folder = config.invocation_params.dir
    asked = [argument.partition("::") for argument in config.args]
    places = [((folder / path).resolve(), name) for path, _, name in asked]
    return places + [
        (old, name)
        for path, name in places
        for new, old in renamed.items()
        if new.is_relative_to(path) and not any(old.is_relative_to(other) for other, _ in places)
    ]


def whole_files(selected: Iterable[tuple[Path, str]]) -> list[str]:
    """Return as arguments those of these files and folders that exist."""
    return list(dict.fromkeys(str(path) for path, _ in selected if path.exists()))


def node(file: Path, root: Path) -> str:
    """Return the node id of a file."""
    return os.path.relpath(file, root).replace(os.sep, "/")


IMPORTED_BEFORE = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
BY_HISTORY = ("lf", "stepwise")
"""Options that select tests by earlier runs, which were not runs of the base."""
INERT: dict[str, object] = {
    "xmlpath": None,
    "log_file": os.devnull,  # nothing else overrides the ini file's
    "pastebin": None,
    "report_log": None,  # pytest-reportlog
    "json_report": False,  # pytest-json-report
    "htmlpath": None,  # pytest-html
    "allure_report_dir": None,  # allure-pytest
    "maxfail": 0,
    "usepdb": False,
    "lf": False,
    "failedfirst": False,
    "stepwise": False,
    "stepwise_skip": False,
    "ngraph_against": None,
    "ngraph_against_python": None,
}
"""Options that would write one of the run's files, select by its history, stop at an error, or compare again."""
MEASURING: dict[str, object] = {
    "dist": "no",
    "tx": [],
    "numprocesses": None,
    "benchmark_disable": False,
    "benchmark_skip": False,
}
"""Options of a child that measures, whatever the ini file sets for other runs."""


def main() -> None:
    """Collect what standard input asks for."""
    request = json.loads(sys.stdin.read())
    sys.path[:] = request["path"]
    with Path(request["file"]).open("w") as out:
        writer = CaseWriter(out, request["renamed"])
        sys.exit(run_pytest(["--collect-only", "-q", *request["arguments"]], writer))


if __name__ == "__main__":
    main()
