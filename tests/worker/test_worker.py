"""What a worker answers for a workload depends on it, not on those before."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.worker.worker import Worker


def test_the_operators_of_a_program_belong_to_it_whoever_imported_them_first(tmp_path: Path) -> None:
    """Their module is imported by a statement for one workload, and by a computed name for the next."""
    worker = Worker(announce=lambda phase: None)
    found = {}
    for name in ("twice", "registered"):
        (folder := tmp_path / name).mkdir()
        case = Case(workload=f"{name}:build", compiler="torchscript", batch_size=2)
        found[name] = Artifact.from_dict(worker.export(case=case.to_dict(), folder=str(folder)))
    assert found["registered"].operators == ("twice",)
    assert {Path(file).name for file in found["registered"].own_files} >= {"twice.py", "registered.py"}
    assert found["registered"].calls_own_code
