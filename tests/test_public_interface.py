"""The public names, and that a project that uses them runs and is typed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import typed_project

import pytest_ngraph

TYPED_PROJECT = Path(typed_project.__file__)


def test_the_typed_project_uses_every_public_name() -> None:
    imports = [node for node in ast.walk(ast.parse(TYPED_PROJECT.read_text())) if isinstance(node, ast.ImportFrom)]
    used = [alias.name for node in imports if node.module == "pytest_ngraph" for alias in node.names]
    assert used == pytest_ngraph.__all__


def test_the_typed_project_runs() -> None:
    assert typed_project.compiler.kinds == ("cpu",)
    assert typed_project.family.owns("square")
    assert [metric.name for metric in typed_project.pytest_ngraph_metrics([])] == ["mine.count", "mine.unknown"]


def test_every_public_name_is_there_and_listed() -> None:
    assert {*pytest_ngraph.__all__} <= {*dir(pytest_ngraph)}
    assert all(getattr(pytest_ngraph, name) is not None for name in pytest_ngraph.__all__)


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="module 'pytest_ngraph' has no attribute 'Nothing'"):
        pytest_ngraph.Nothing  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, pytest_ngraph; print([name for name in sys.modules if name.startswith('pytest_ngraph.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
