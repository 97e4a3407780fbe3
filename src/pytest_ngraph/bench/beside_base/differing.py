"""What differs between head and base, and so what a comparison is about and whether one process can hold both."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.system.relocation import moved, with_paths

Files = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison.

    Attributes:
        case: its case.
        artifact: what its compiler starts from.
        runs_module: whether its compiler runs the workload's module and not its exported program.
        compiler_files: digests of the user's own files that make up its compiler, by path.
    """

    case: Case
    artifact: Artifact
    runs_module: bool = False
    compiler_files: Files = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the side as JSON-ready data."""
        own = {"case": self.case.to_dict(), "artifact": self.artifact.to_dict()}
        return own | {"runs_module": self.runs_module, "compiler_files": dict(self.compiler_files)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Side:
        """Return the side from the data of `to_dict`."""
        return cls(
            case=Case.from_dict(data["case"]),
            artifact=Artifact.from_dict(data["artifact"]),
            runs_module=data["runs_module"],
            compiler_files=data["compiler_files"],
        )

    def moved(self, copy: Path, original: Path) -> Side:
        """Return the side of a copy of a repository with the repository's own paths."""

        def move(text: str) -> str:
            return moved(text, copy, original)

        def files(digests: Files) -> dict[str, str]:
            return {move(path): digest for path, digest in digests.items()}

        own = files(self.artifact.own_files)
        artifact = dataclasses.replace(self.artifact, files=own, unrelated=())
        case, compiler_files = with_paths(self.case, move), files(self.compiler_files)
        return dataclasses.replace(self, case=case, artifact=artifact, compiler_files=compiler_files)

    def is_same(self, other: Side) -> bool:
        """Return whether nothing would be measured if these were head and base, given with paths of one folder."""
        here = Path("/")
        return compared(Comparison(against=""), self, other, instead_of=(here, here)).same


def compared(
    comparison: Comparison,
    head: Side,
    base: Side,
    *,
    instead_of: tuple[Path, Path] | None,
    measures_equals: bool = False,
) -> Comparison:
    """Return the comparison with what it is about, and how it is made.

    One process can hold the exported programs of two revisions, but neither their modules, nor two versions of a
    compiler or of an operator of the user's own: those run in a process of each side's tree. Where files that a module
    is built from differ, its Python may differ although its graph is the same; where the graph differs too, the case is
    compared in both ways. Input values belong to the graph: ids and masks decide how much is computed.

    Args:
        comparison: it says where the base's interpreter runs.
        instead_of: as in `Base`. Files can differ only if there is a copy.
        measures_equals: as in `Base`.
    """
    has_other_files = _differ(head.artifact.own_files, base.artifact.own_files, instead_of)
    # Inputs that differ although no file does are drawn without a seed, by a generator of the user's own.
    has_other_inputs = head.artifact.inputs_digest != base.artifact.inputs_digest and has_other_files
    is_same_graph = head.artifact.digest == base.artifact.digest and not has_other_inputs
    is_equal = head.case == base.case and is_same_graph and not measures_equals
    own_trees = dataclasses.replace(comparison, placement="apart")
    if _differ(head.compiler_files, base.compiler_files, instead_of):
        return dataclasses.replace(own_trees, subject="compiler")
    is_module = head.runs_module and base.runs_module
    has_other_operators = has_other_files and (head.artifact.calls_own_code or base.artifact.calls_own_code)
    is_edited = is_module and has_other_files
    if is_equal and not (is_edited or has_other_operators):
        return dataclasses.replace(comparison, same=True)
    modules = dataclasses.replace(own_trees, subject="module")
    if head.artifact.export_error or base.artifact.export_error:
        return modules
    if not is_module:
        return own_trees if has_other_operators else comparison
    if is_equal or has_other_operators or comparison.placement == "apart":
        return modules
    programs = dataclasses.replace(comparison, subject="program")
    if not is_edited:
        return programs
    modules, programs = (dataclasses.replace(each, share=0.5) for each in (modules, programs))
    return dataclasses.replace(programs, module=modules)


def _differ(head: Files, base: Files, instead_of: tuple[Path, Path] | None) -> bool:
    """Return whether the files of the two sides differ: in what they hold, or because only one side has one."""
    if instead_of is None:
        return False
    copy, original = instead_of
    return dict(head) != {moved(path, copy, original): digest for path, digest in base.items()}
