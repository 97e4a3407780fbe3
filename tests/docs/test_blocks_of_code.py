"""Check the blocks of code in the docs: they are valid, and what they name exists."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from importlib.util import find_spec

import pytest
import reference
from pages import BLOCK, PAGES, ROOT, Block, blocks

from pytest_ngraph.plugin import options

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGES = {"python", "sh", "text", "toml", "yaml"}
OWN = {"nets", "serve"}
"""Modules that the reader of a page writes, or has written."""
ELSEWHERE = {"dask_jobqueue", "dask_kubernetes"}
"""Libraries of recipes that are no dependencies. `tests/cluster/test_recipes.py` runs these recipes."""


def page_of(block: Block) -> str:
    return block.page


@pytest.mark.parametrize("page", PAGES)
def test_code_stands_in_fences_of_a_known_language(page: str) -> None:
    text = (ROOT / page).read_text()
    assert {match[2] for match in BLOCK.finditer(text)} <= LANGUAGES
    indented = re.findall(r"^\n    .*", BLOCK.sub("", text), re.MULTILINE)
    assert not indented, "nothing checks an indented block"


@pytest.mark.parametrize("block", blocks("python"), ids=page_of)
def test_what_python_imports_exists(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.Import):
            assert all(alias.name in OWN or find_spec(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("pytest_ngraph"):
            module = importlib.import_module(str(node.module))
            assert all(hasattr(module, alias.name) for alias in node.names), ast.unparse(node)
        elif isinstance(node, ast.ImportFrom):
            top = str(node.module).partition(".")[0]
            assert top in OWN | ELSEWHERE or find_spec(str(node.module))


@pytest.mark.parametrize("block", blocks("toml"), ids=page_of)
def test_keys_of_pytest_in_toml_are_declared(block: Block) -> None:
    declared = reference.Collector()
    options.declare(declared)  # type: ignore[arg-type]  # has the two methods that are called
    settings = tomllib.loads(block.text).get("tool", {}).get("pytest", {}).get("ini_options", {})
    assert {key for key in settings if key.startswith("ngraph_")} <= {name for name, _ in declared.ini}
