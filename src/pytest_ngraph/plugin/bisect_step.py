"""The process that answers one question of a bisection: `python -m pytest_ngraph.plugin.bisect_step`.

It reads a JSON object (`bisect.child.Request`) from standard input, and runs pytest with its arguments on the cases
that are asked about. Into the request's file goes a JSON line `{"untracked"}` with the ini file's patterns of files
that git does not track, and one for each case: `{"case", "own", "data", "nodeid"}` with `own`, its id in this folder,
and with what is known before anything is measured: `side`, what it is built from; `same_as`, a point whose answer is
this one's too; `problem`, why it cannot be built. While it is measured, a line `{"base_of", "side"}` follows for each
case that was built at the base: the case, and what it is built from there.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ngraph.against.pairing import BaseCase, Collection, pair
from pytest_ngraph.against.revision.untracked import bring_untracked
from pytest_ngraph.case import Case
from pytest_ngraph.plugin.assembly import BASE, SESSION
from pytest_ngraph.plugin.case_writer import MEASURING, node, run_pytest, selection, set_options, whole_files
from pytest_ngraph.plugin.items import case_of, measures
from pytest_ngraph.plugin.options.reading import lines
from pytest_ngraph.system.child import die_with_parent
from pytest_ngraph.system.relocation import STANDARD_LIBRARY, completed, moved, project_path, with_paths

if TYPE_CHECKING:
    from pytest_ngraph.bench.beside_base.base_builds import Unbuilt
    from pytest_ngraph.bench.beside_base.differing import Side


class BisectStep:
    """A plugin that leaves only the cases to be measured, and writes what is known of all that are asked about."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._request = request
        self._places = tuple(map(Path, request["instead_of"])) if request["instead_of"] else None
        self._renamed = {Path(new): Path(old) for new, old in request["renamed"].items()}
        self._nodes: dict[str, str] = {}
        self._home: dict[Case, Case] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        set_options(config, MEASURING)
        if self._places is not None:
            copy, original = self._places
            bring_untracked(lines(config, "ngraph_untracked"), original, copy)
            self._nodes = {node(old, config.rootpath): node(new, config.rootpath) for new, old in self._renamed.items()}
            are_paths = config.args_source == pytest.Config.ArgsSource.ARGS and not config.option.pyargs
            if are_paths and self._request["cases"] is not None:
                self._follow(config)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        own = {case: item for item in reversed(items) if (case := case_of(item)) is not None and measures(item)}
        asked = self._asked({self._at_home(case): case for case in reversed(own)}, own)
        built = self._built(asked.values(), config)
        found = {here: self._line(case, here, own[here].nodeid, built.get(here)) for case, here in asked.items()}
        self._write({"untracked": list(map(str, config.getini("ngraph_untracked") or ()))}, *found.values())
        self._home = {here: case for case, here in asked.items()}
        measured = [here for here, line in found.items() if not (line.get("same_as") or line.get("problem"))]
        self._hand_over(measured, built, config)
        kept = [own[here] for here in measured]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept

    def _follow(self, config: pytest.Config) -> None:
        """Have whole files collected, where they lie here, also at the base, which is given the same arguments.

        An earlier commit may have other tests and parameters in them, and pytest refuses a file or test that is
        missing. Still, only the cases that are asked about are measured.
        """
        started, given = config.invocation_params, set(config.args)
        config.args = whole_files(selection(config, self._renamed))
        others = [each for each in started.args if str(each) not in given]
        config.invocation_params = dataclasses.replace(started, args=(*others, *config.args))

    def _at_home(self, case: Case) -> Case:
        """Return the case with the paths of the repository, which all its copies share."""
        if self._places is None:
            return case
        copy, original = self._places
        return with_paths(case, lambda text: moved(text, copy, original))

    def _asked(self, here: Mapping[Case, Case], own: Mapping[Case, pytest.Item]) -> dict[Case, Case]:
        """Return the cases that are asked about, each with the case that it is in this folder."""
        if self._request["cases"] is None:
            parts = self._request["only"]
            return {case: at for case, at in here.items() if not parts or any(part in case.id for part in parts)}
        heads = [(each["nodeid"], Case.from_dict(each["data"])) for each in self._request["cases"]]
        found = Collection(tuple(BaseCase(self._nodeid(own[at]), case) for case, at in here.items()))
        return {case: here[paired] for case, paired in pair(heads, found).bases.items()}

    def _nodeid(self, item: pytest.Item) -> str:
        """Return an item's node id with the place that its file has at the bad point."""
        file, colons, name = item.nodeid.partition("::")
        return f"{self._nodes.get(file, file)}{colons}{name}"

    def _write(self, *lines: Mapping[str, Any]) -> None:
        with Path(self._request["file"]).open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    def _built(self, cases: Any, config: pytest.Config) -> Mapping[Case, Side | Unbuilt]:
        if self._places is None or not self._request["builds"]:
            return {}
        from pytest_ngraph.bench.beside_base.building import built
        from pytest_ngraph.bench.conditions import Conditions
        from pytest_ngraph.bench.processes.scratch import Scratch
        from pytest_ngraph.machine.host import THIS_MACHINE

        scratch = Scratch()
        config.add_cleanup(scratch.close)
        options = config.stash[SESSION].options
        conditions = Conditions(common=options.settings, profiles=options.inventory, machine=THIS_MACHINE.machine)
        copy, original = self._places
        own_path = project_path([], copy, (Path.cwd(), config.rootpath))
        return built(cases, conditions, (copy, original), scratch.folder, own_path)

    def _hand_over(self, measured: Sequence[Case], built: Mapping[Case, Side | Unbuilt], config: pytest.Config) -> None:
        """Have the gate measure what was built, and write what it builds at the base. Remove what it does not need."""
        base = config.stash[BASE]
        if self._places is None or base is None:
            return
        from pytest_ngraph.bench.beside_base.differing import Side

        base.on_built = self._write_base
        artifacts = {case.group: side.artifact for case, side in built.items() if isinstance(side, Side)}
        base.exported = {case.group: artifacts[case.group] for case in measured if case.group in artifacts}
        for group, artifact in artifacts.items():
            if group not in base.exported:
                shutil.rmtree(artifact.folder, ignore_errors=True)

    def _write_base(self, case: Case, side: Side) -> None:
        """Write what a case is built from at the base, with the paths of the repository in place of its copy's."""
        if self._places is not None and case in self._home:
            self._write({"base_of": self._home[case].id, "side": side.moved(*self._places).to_dict()})

    def _line(self, case: Case, here: Case, nodeid: str, built: Side | Unbuilt | None) -> dict[str, Any]:
        line: dict[str, Any] = {"case": case.id, "own": here.id, "data": case.to_dict(), "nodeid": nodeid}
        if built is None or self._places is None:
            return line
        from pytest_ngraph.bench.beside_base.base_builds import Unbuilt
        from pytest_ngraph.bench.beside_base.differing import Side

        if isinstance(built, Unbuilt):
            return line | {"problem": built.reason}
        side = built.moved(*self._places)
        known = (each for each in self._request["known"] if each["case"] == case.id)
        same = next((each["point"] for each in known if side.is_same(Side.from_dict(each["side"]))), "")
        return line | {"side": side.to_dict(), "same_as": same}


def main() -> None:
    """Answer what standard input asks."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in its background without it
    request = json.loads(sys.stdin.read())
    sys.path[:] = (
        completed([STANDARD_LIBRARY, str(Path.cwd())], sys.path) if request["path"] is None else request["path"]
    )
    sys.exit(run_pytest(request["arguments"], BisectStep(request)))


if __name__ == "__main__":
    main()
