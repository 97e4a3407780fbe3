"""The oldest versions that are tested are the oldest that are allowed."""

from __future__ import annotations

from pathlib import Path

import lower_bounds

DATA = Path(__file__).parents[1] / "data"

PYPROJECT = """
[project]
dependencies = ["numpy>=1.24", "tomli>=2; python_version < '3.11'", "torchvision"]
[project.optional-dependencies]
tvm = ["ffi==0.1.14.post1", "numpy>=1.24,<3"]
all = ["mine[tvm]"]
lint = ["mypy>=1"]
"""


def test_bounds_and_pins_become_constraints() -> None:
    assert lower_bounds.constraints(PYPROJECT) == [
        "ffi==0.1.14.post1",
        "numpy==1.24",
        'tomli==2; python_version < "3.11"',
    ]


def test_the_constraints_are_those_of_the_project() -> None:
    written = (DATA / "lower_bounds.txt").read_text().splitlines()
    assert written == lower_bounds.constraints(lower_bounds.PROJECT.read_text())
