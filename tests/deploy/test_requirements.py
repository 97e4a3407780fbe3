from __future__ import annotations

import re
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement

from pytest_ngraph.deploy.requirements import requirements
from pytest_ngraph.errors import UsageError


def test_every_line_is_an_installed_version() -> None:
    lines = [line for line in requirements(["numpy", "torch"]).splitlines() if not line.startswith("#")]
    for line in lines:
        requirement = Requirement(line.partition("#")[0])
        assert requirement.specifier.contains(version(requirement.name)), line
        assert re.fullmatch(r"==[^*]+", str(requirement.specifier))


def test_what_is_imported_comes_first_then_what_that_needs() -> None:
    first, _, rest = requirements(["torch", "numpy"]).partition("# what these need:\n")
    assert [line.partition("=")[0] for line in first.splitlines()] == ["numpy", "torch"]
    assert "sympy==" in rest
    assert "numpy==" not in rest


def test_the_version_of_another_index_is_noted_not_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.deploy.requirements.version", lambda name: "2.7.1+cpu")
    monkeypatch.setattr("pytest_ngraph.deploy.requirements.requires", lambda name: [])
    assert requirements(["torch"]) == "torch==2.7.1  # 2.7.1+cpu was measured, from another package index\n"


def test_a_module_that_no_package_provides_is_one_message() -> None:
    with pytest.raises(UsageError, match="needs nowhere, which no installed package provides"):
        requirements(["nowhere"])
