"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

python tools/lower_bounds.py > tests/data/lower_bounds.txt
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
TOOLS = ("docs", "lint")
"""Extras for development, which are only used in their newest versions."""


def constraints(pyproject: str) -> list[str]:
    """Return `name==version` for each requirement that has a lower bound or a pin, sorted."""
    project = tomllib.loads(pyproject)["project"]
    extras = [lines for name, lines in project["optional-dependencies"].items() if name not in TOOLS]
    requirements = map(Requirement, chain(project["dependencies"], *extras))
    return sorted({line for requirement in requirements for line in _bounds(requirement)})


def _bounds(requirement: Requirement) -> Iterator[str]:
    for bound in requirement.specifier:
        if bound.operator in (">=", "=="):
            marker = f"; {requirement.marker}" if requirement.marker else ""
            yield f"{requirement.name}=={bound.version}{marker}"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("\n".join(constraints(PROJECT.read_text())))
