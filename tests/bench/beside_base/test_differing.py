"""What a comparison is about, and whether one process can hold both sides, follows from what differs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from synthetic import case

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.bench.beside_base.differing import Side, compared
from pytest_ngraph.comparison import Comparison, Placement

TREE, ROOT = Path("/tmp/base"), Path("/home/user/project")
EAGER = case("identity", 8)
EDITED = {"files": {f"{ROOT}/nets.py": "later"}}
CHANGED = {"digest": "another graph"}
REFUSED = {"export_error": "UserError: it branches on data"}


def side(root: Path, **changes: Any) -> Side:
    """Return one side, of which eager PyTorch runs the module."""
    artifact = Artifact(folder=Path(), case=EAGER, digest="graph", files={f"{root}/nets.py": "earlier"})
    return Side(case=EAGER, artifact=dataclasses.replace(artifact, **changes), runs_module=True)


BASE = side(TREE)


def found(head: Side, base: Side = BASE, placement: Placement = "together", **more: Any) -> Comparison:
    comparison = Comparison(against="main", placement=placement)
    return compared(comparison, head, base, **{"instead_of": (TREE, ROOT)} | more)


def test_equal_files_in_two_folders_are_the_same() -> None:
    assert found(side(ROOT)).same


def test_a_side_comes_back_from_json_and_two_copies_of_a_repository_can_be_told_apart() -> None:
    kept = [Side.from_dict(side(root, **more).to_dict()) for root, more in ((TREE, {}), (ROOT, {}), (ROOT, EDITED))]
    copy, here, edited = kept[0].moved(TREE, ROOT), *kept[1:]
    assert copy.is_same(here)
    assert not copy.is_same(edited)
    assert not here.is_same(Side.from_dict(side(ROOT, **CHANGED).to_dict()))


@pytest.mark.parametrize("files", [{}, {f"{ROOT}/nets.py": "earlier", f"{ROOT}/more.py": "new"}, EDITED["files"]])
def test_a_file_that_differs_or_that_one_side_lacks_makes_modules_of_an_equal_graph(files: dict[str, str]) -> None:
    comparison = found(side(ROOT, files=files))
    assert (comparison.subject, comparison.placement, comparison.same) == ("module", "apart", False)
    assert (comparison.module, comparison.share) == (None, 1.0)


def test_a_file_that_only_another_workload_imports_does_not_count() -> None:
    assert found(side(ROOT, **EDITED, unrelated=(f"{ROOT}/nets.py",)), side(TREE, files={})).same


def test_another_graph_in_changed_files_is_compared_in_both_ways_which_share_the_level() -> None:
    comparison = found(side(ROOT, **EDITED, **CHANGED))
    assert (comparison.subject, comparison.placement, comparison.share) == ("program", "together", 0.5)
    assert comparison.module == Comparison(against="main", placement="apart", subject="module", share=0.5)


def test_other_input_values_are_measured_under_every_compiler() -> None:
    head = dataclasses.replace(side(ROOT, **EDITED, inputs_digest="others"), runs_module=False)
    assert found(head, dataclasses.replace(BASE, runs_module=False)) == Comparison(against="main")
    assert found(side(ROOT, **EDITED, inputs_digest="others")).subject == "program"


def test_inputs_that_differ_in_each_build_of_equal_files_are_not_a_change() -> None:
    assert found(side(ROOT, inputs_digest="drawn without a seed")).same


def test_another_graph_from_equal_files_is_compared_as_programs() -> None:
    """Another version of a library changes a graph, or weights that are drawn again do."""
    assert found(side(ROOT, **CHANGED)) == Comparison(against="main", subject="program")


def test_a_compiler_that_runs_no_module_does_not_see_the_files() -> None:
    head, base = (dataclasses.replace(each, runs_module=False) for each in (side(ROOT, **EDITED), BASE))
    assert found(head, base).same
    changed = dataclasses.replace(side(ROOT, **EDITED, **CHANGED), runs_module=False)
    assert found(changed, base) == Comparison(against="main")


@pytest.mark.parametrize("changes", [{}, CHANGED])
def test_operators_of_ones_own_are_compared_in_a_process_of_each_tree(changes: dict[str, Any]) -> None:
    """A program holds only their names, and one process can register only one of each name."""
    head, base = side(ROOT, **EDITED, **changes, operators=("nets",)), side(TREE, operators=("nets",))
    comparison = found(head, base)
    assert (comparison.subject, comparison.placement, comparison.module) == ("module", "apart", None)
    head, base = (dataclasses.replace(each, runs_module=False) for each in (head, base))
    assert found(head, base) == Comparison(against="main", placement="apart")


def test_operators_of_a_library_do_not_see_the_files() -> None:
    head, base = (side(root, **own, operators=("torchvision",)) for root, own in ((ROOT, EDITED), (TREE, {})))
    head, base = (dataclasses.replace(each, runs_module=False) for each in (head, base))
    assert found(head, base).same


@pytest.mark.parametrize("refused", [(True, True), (True, False), (False, True)])
def test_what_torch_export_refuses_is_compared_as_modules(refused: tuple[bool, bool]) -> None:
    head, base = (REFUSED if each else {} for each in refused)
    comparison = found(side(ROOT, **CHANGED, **head), side(TREE, **base))
    assert (comparison.subject, comparison.placement, comparison.module) == ("module", "apart", None)


def test_what_torch_export_refuses_is_the_same_if_no_file_changed() -> None:
    assert found(side(ROOT, **REFUSED), side(TREE, **REFUSED)).same
    assert found(side(ROOT, **REFUSED, **EDITED), side(TREE, **REFUSED)).subject == "module"


def test_a_compiler_of_ones_own_that_changed_is_measured_with_an_equal_graph() -> None:
    head = dataclasses.replace(side(ROOT), runs_module=False, compiler_files={f"{ROOT}/mine.py": "later"})
    base = dataclasses.replace(BASE, runs_module=False, compiler_files={f"{TREE}/mine.py": "earlier"})
    comparison = found(head, base)
    assert (comparison.subject, comparison.placement, comparison.same) == ("compiler", "apart", False)
    equal = dataclasses.replace(base, compiler_files={f"{TREE}/mine.py": "later"})
    assert found(head, equal).same


def test_without_a_copy_both_sides_have_the_same_files() -> None:
    """Another interpreter imports the head's own files."""
    assert found(side(ROOT, **EDITED), instead_of=None).same
    measured = found(side(ROOT), placement="apart", instead_of=None, measures_equals=True)
    assert (measured.subject, measured.placement) == ("module", "apart")
