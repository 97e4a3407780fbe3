"""What another interpreter has, and how it comes into a copy of its environment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from repository import Repository
from wheels import wheel

from pytest_ngraph.bisect.installing import build
from pytest_ngraph.bisect.interpreter import Interpreter, described
from pytest_ngraph.bisect.libraries import Change, Package, changes
from pytest_ngraph.errors import UsageError

BACKEND = """
import pathlib, sys
sys.path.insert(0, {support!r})
import wheels
def build_wheel(folder, settings=None, metadata=None):
    return wheels.wheel(pathlib.Path(folder), "heavy", "1.0", pathlib.Path("code.txt").read_text()).name
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""


def of_this(*folders: str) -> Interpreter:
    return Interpreter(python=sys.executable, version="", packages={}, folders=folders)


def installed(package: Package) -> list[Change]:
    return [Change(names=(package.name,), good={}, bad={package.name: package})]


@pytest.fixture
def environment(tmp_path: Path) -> str:
    """The interpreter of an environment that has `heavy` 1.0."""
    folder = wheel(tmp_path / "wheels", "heavy", "1.0", "").parent
    return build(tmp_path / "environment", of_this(), installed(Package(name="heavy", version="1.0")), [str(folder)])


def information(python: str) -> Path:
    """Return the folder in which an environment describes `heavy`."""
    (found,) = Path(python).parents[1].glob("lib/python*/site-packages/heavy-1.0.dist-info")
    return found


@pytest.mark.parametrize("answer", ["", "welcome", "1", "[]"])
def test_what_does_not_answer_is_no_interpreter(tmp_path: Path, answer: str) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho '{answer}'\n")
    python.chmod(0o755)
    with pytest.raises(UsageError, match=r"--python=.* does not answer like a Python interpreter \(no reason given\)"):
        described(str(python), "--python")


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (
            {"url": "https://example.org/heavy.git", "vcs_info": {"vcs": "git", "commit_id": "a1b2"}},
            "heavy @ git+https://example.org/heavy.git@a1b2",
        ),
        (
            {
                "url": "ssh://git@example.org/all.git",
                "vcs_info": {"vcs": "git", "commit_id": "a1b2", "requested_revision": "main"},
                "subdirectory": "packages/heavy",
            },
            "heavy @ git+ssh://git@example.org/all.git@a1b2#subdirectory=packages/heavy",
        ),
        (
            {"url": "https://example.org/all.zip", "archive_info": {}, "subdirectory": "heavy"},
            "heavy @ https://example.org/all.zip#subdirectory=heavy",
        ),
        (
            {"url": "file:///w/heavy-1.0-py3-none-any.whl", "archive_info": {}},
            "heavy @ file:///w/heavy-1.0-py3-none-any.whl",
        ),
    ],
)
def test_what_came_from_an_address_is_installed_from_there(
    environment: str, origin: dict[str, object], requirement: str
) -> None:
    (information(environment) / "direct_url.json").write_text(json.dumps(origin))
    assert described(environment, "--python").packages["heavy"].requirement == requirement


def test_a_package_from_git_is_installed_at_its_commit(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    repository.write("sub/backend.py", BACKEND.format(support=str(Path(__file__).parents[1] / "support")))
    repository.write("sub/pyproject.toml", PROJECT)
    environments = []
    for number in (1, 2):
        repository.write("sub/code.txt", f"NUMBER = {number}\n")
        url = f"git+file://localhost{repository.root}@{repository.commit(str(number))}#subdirectory=sub"
        package = Package(name="heavy", version="1.0", url=url)
        python = build(tmp_path / str(number), of_this(), installed(package), [])
        environments.append(described(python, "--python"))
    good, bad = environments
    assert bad.packages["heavy"].url == url
    (change,) = changes(good.packages, bad.packages)
    assert change.text.endswith(f"(repository@{repository.git('rev-parse', 'HEAD')})")
    between = build(tmp_path / "between", good, [change], [])
    said = subprocess.run(
        [between, "-c", "import heavy; print(heavy.NUMBER)"], capture_output=True, text=True, check=True
    )
    assert said.stdout == "2\n"


def test_what_has_no_metadata_is_no_package(environment: str) -> None:
    """An upgrade that was interrupted leaves such a folder behind."""
    information(environment).with_name("torn-1.0.dist-info").mkdir()
    assert list(described(environment, "--python").packages) == ["heavy"]


@pytest.mark.parametrize("sees", [True, False])
def test_a_copy_sees_the_packages_of_the_system_where_the_good_one_does(tmp_path: Path, sees: bool) -> None:
    options = ["--system-site-packages"] if sees else []
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", *options, str(tmp_path / "good")], check=True)
    good = described(str(tmp_path / "good" / "bin" / "python"), "--python")
    assert good.sees_system == sees
    copy = build(tmp_path / "copy", good, [], [])
    assert described(copy, "--python").sees_system == sees
    assert described(copy, "--python").packages.keys() == good.packages.keys()
