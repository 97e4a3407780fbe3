"""What differs between two environments: the order of the changes, and the environments in between."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repository import Repository
from wheels import wheel

from pytest_ngraph.bisect.environments import Environments
from pytest_ngraph.bisect.installing import CannotInstall, build, reason
from pytest_ngraph.bisect.interpreter import Interpreter, described
from pytest_ngraph.bisect.libraries import Change, Package, after, changes, conflict
from pytest_ngraph.bisect.options import Asked
from pytest_ngraph.cli import main
from pytest_ngraph.errors import UsageError


def package(name: str, version: str, *requires: str, **fields: str) -> Package:
    return Package(name=name, version=version, requires=requires, **fields)  # type: ignore[arg-type]


def environment(*packages: Package) -> dict[str, Package]:
    return {each.name: each for each in packages}


def names(found: list[Change]) -> list[tuple[str, ...]]:
    return [change.names for change in found]


def test_a_package_follows_what_its_new_version_requires() -> None:
    good = environment(package("app", "1"), package("numpy", "1.26"), package("zlib", "1"))
    bad = environment(package("app", "2", "zlib>=2", "numpy"), package("numpy", "2.0"), package("zlib", "2"))
    assert names(changes(good, bad)) == [("numpy",), ("zlib",), ("app",)]


def test_what_cannot_be_without_each_other_changes_together() -> None:
    good = environment(package("torch", "2.0"), package("vision", "0.1", "torch==2.0"), package("a", "1"))
    bad = environment(package("torch", "2.1"), package("vision", "0.2", "torch==2.1"), package("a", "1"))
    (together,) = changes(good, bad)
    assert together.names == ("torch", "vision")
    assert together.text == "torch 2.0 -> 2.1, vision 0.1 -> 0.2"


def test_an_old_version_that_a_new_one_cannot_be_with_goes_first() -> None:
    good = environment(package("old", "1", "base<2"), package("base", "1"))
    bad = environment(package("old", "2"), package("base", "2"))
    assert names(changes(good, bad)) == [("old",), ("base",)]


def test_packages_come_and_go_and_ours_is_left_out() -> None:
    good = environment(package("gone", "1"), package("pytest-ngraph", "1"))
    bad = environment(package("new", "1"), package("pytest-ngraph", "2"))
    found = changes(good, bad)
    assert [change.text for change in found] == ["gone 1 -> none", "new none -> 1"]
    assert sorted(after(found, good)) == ["new", "pytest-ngraph"]


def test_two_builds_of_one_version_differ() -> None:
    one, other = (
        package("a", "1", files="12", url="file:///w/one.whl"),
        package("a", "1", files="34", url="file:///w/b.whl"),
    )
    (change,) = changes(environment(one), environment(other))
    assert change.text == "a 1 (one.whl) -> 1 (b.whl)"
    assert other.requirement == "a @ file:///w/b.whl"
    assert not changes(environment(one), environment(one))


def test_a_conflict_is_one_that_neither_end_has() -> None:
    good = environment(
        package("a", "1", "b<2"), package("b", "1"), package("c", "1", "b>5", "absent", "d; extra == 'x'")
    )
    bad = environment(package("a", "2"), package("b", "2"), package("c", "1", "b>5"))
    assert not conflict(good, good, bad)
    mixed = environment(package("a", "1", "b<2"), package("b", "2"), good["c"])
    assert conflict(mixed, good, bad) == "a 1 requires b<2, and here is 2"


@pytest.mark.parametrize(("asks", "together"), [("[blas]", True), ("", False)])
def test_what_an_extra_requires_counts_where_the_extra_is_asked_for(asks: str, together: bool) -> None:
    """As PyTorch asks for parts of NVIDIA's toolkit."""
    good, bad = (
        environment(
            package("torch", "1", f"toolkit{asks}"),
            package("toolkit", version, f"blas=={version}; extra == 'blas'"),
            package("blas", version),
        )
        for version in ("1", "2")
    )
    assert (len(changes(good, bad)) == 1) == together
    mixed = {**good, "blas": bad["blas"]}
    assert bool(conflict(mixed, good, bad)) == together


@given(st.data())
def test_whatever_requires_what_each_step_resolves(data: st.DataObject) -> None:
    """Each package requires some others in the very version that its environment has."""
    all_names = "abcdef"
    pins = {name: data.draw(st.sets(st.sampled_from(all_names))) - {name} for name in all_names}
    good, bad = (
        environment(*(package(name, version, *(f"{other}=={version}" for other in pins[name])) for name in all_names))
        for version in ("1", "2")
    )
    found = changes(good, bad)
    assert sorted(name for change in found for name in change.names) == list(all_names)
    for count in range(len(found) + 1):
        assert not conflict(after(found[:count], good), good, bad)
    assert after(found, good) == bad


def test_environments_that_cannot_be_bisected_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Interpreter(python="one", version="CPython 3.11", packages=environment(package("a", "1")), folders=())
    other = Interpreter(python="other", version="CPython 3.12", packages={}, folders=())
    known = {"one": one, "other": other}
    monkeypatch.setattr("pytest_ngraph.bisect.environments.described", lambda python, option: known[python])
    with pytest.raises(
        UsageError, match=r"one is CPython 3\.11, other is CPython 3\.12: there is no environment in betw"
    ):
        Environments(Asked(good="one", bad="other", libraries=True))
    with pytest.raises(UsageError, match="have the same packages: there is nothing to find"):
        Environments(Asked(good="one", bad="one", libraries=True))


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """Two versions of `heavy`, which differ in one function, and of `light`, which differ in a comment."""
    folder = tmp_path / "wheels"
    for version, weight in (("1.0", 10), ("1.1", 13)):
        wheel(folder, "heavy", version, f"def weight():\n    return {weight}\n")
        wheel(folder, "light", version, f"# {version}\n")
        wheel(folder, "lighter", version, f"# {version}\n")
    return folder


def installed(*requirements: str) -> list[Change]:
    """Return a change that installs these into any environment."""
    wanted = environment(*(package(*each.split("==")) for each in requirements))
    return [Change(names=tuple(wanted), good={}, bad=wanted)]


def of_this(*folders: str) -> Interpreter:
    return Interpreter(python=sys.executable, version="", packages={}, folders=folders)


@pytest.fixture(params=["uv", "pip"])
def installer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let environments be built with this one."""
    name = str(request.param)
    if name == "uv" and shutil.which("uv") is None:
        pytest.skip("uv is not on PATH")
    if name == "pip":
        monkeypatch.setattr("pytest_ngraph.bisect.installing.shutil.which", lambda command: None)
    return name


def test_uv_is_asked_as_its_documentation_says(tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked"
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(f'#!/bin/sh\necho "$@" >> {asked}\n')
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}:{os.environ['PATH']}")
    bad = package("heavy", "1.1")
    made = [
        Change(names=("heavy",), good={"heavy": package("heavy", "1.0")}, bad={"heavy": bad}),
        Change(names=("light",), good={"light": package("light", "1.0")}, bad={}),
    ]
    python = build(tmp_path / "between", of_this(), made, [str(wheels)])
    assert asked.read_text().splitlines() == [
        f"pip uninstall --python {python} light",
        f"pip install --python {python} --no-deps --reinstall --no-index --find-links {wheels} heavy==1.1",
    ]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", "no reason given"),
        ("killed\n", "killed"),
        ("ERROR: Could not find a\nERROR: No matching distribution found for heavy==7\n", "ERROR: No matching "),
        (
            "Using Python\nerror: No solution found\n  cause: Because heavy was not found\n",
            "error: No solution found: Be",
        ),
    ],
)
def test_why_an_installer_failed(said: str, expected: str) -> None:
    assert reason(said).startswith(expected)


@pytest.mark.usefixtures("installer")
def test_an_environment_in_between_is_the_good_one_with_some_of_the_bad_ones(tmp_path: Path, wheels: Path) -> None:
    good = build(tmp_path / "good", of_this(), installed("heavy==1.0", "light==1.0"), [str(wheels)])
    first = described(good, "--python")
    bad = environment(package("heavy", "1.1"))
    found = changes(first.packages, bad)
    assert [change.text for change in found] == ["heavy 1.0 -> 1.1", "light 1.0 -> none"]
    between = described(build(tmp_path / "between", first, found[:1], [str(wheels)]), "--python")
    assert {name: each.version for name, each in between.packages.items()} == {"heavy": "1.1", "light": "1.0"}
    whole = described(build(tmp_path / "whole", first, found, [str(wheels)]), "--python")
    assert {name: each.version for name, each in whole.packages.items()} == {"heavy": "1.1"}
    assert described(good, "--python") == first, "the good environment is as it was"
    with pytest.raises(CannotInstall, match=r"heavy==7"):
        build(tmp_path / "none", first, installed("heavy==7"), [str(wheels)])


@pytest.mark.slow
def test_the_guilty_library_is_named(
    weighed: Repository, wheels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of three wheels, one differs in one function."""
    weighed.write("test_it.py", (weighed.root / "test_it.py").read_text().replace(":Weighs", ":WeighsAsInstalled"))
    weighed.write("plain_a.txt", "100")
    weighed.write("plain_b.txt", "10")
    here = described(sys.executable, "")
    good, bad = (
        build(
            tmp_path / name,
            here,
            installed(*(f"{each}=={version}" for each in ("heavy", "light", "lighter"))),
            [str(wheels)],
        )
        for name, version in (("good", "1.0"), ("bad", "1.1"))
    )
    arguments = [f"--python={good}", f"--against-python={bad}", f"--find-links={wheels}", "--case=plain_a", "--json"]
    assert main(["bisect", *arguments, "--", "test_it.py"]) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("3 changes:\n  heavy 1.0 -> 1.1\n  light 1.0 -> 1.1\n  lighter 1.0 -> 1.1\n")
    (culprit,) = json.loads(shown.out)["culprits"]
    assert culprit["commit"] == "heavy 1.0 -> 1.1"
    assert culprit["ratio"][0] == pytest.approx(1.3, abs=0.02)
