"""The next step where a base lacks a file that git does not track."""

from __future__ import annotations

import pytest
from repository import Repository

from pytest_ngraph.bench.beside_base.only_at_head import with_advice


@pytest.mark.parametrize(
    ("reason", "named"),
    [
        ("ModuleNotFoundError: No module named 'mine._version'", "src/mine/_version.py"),
        ("nets cannot be imported (ModuleNotFoundError: No module named 'mine._C'). It must be", "src/mine/_C.abi3.so"),
        ("ImportError: cannot import name '_C' from 'mine' ({tree}/src/mine/__init__.py)", "src/mine/_C.abi3.so"),
        ("ModuleNotFoundError: No module named 'generated'", "src/generated"),
        ("No such file or directory: '{tree}/weights/a.pt'", "weights/a.pt"),
        ("ModuleNotFoundError: No module named 'mine.added'", ""),
        ("ModuleNotFoundError: No module named 'mine.nowhere'", ""),
        ("ModuleNotFoundError: No module named 'triton'", ""),
    ],
)
def test_what_only_the_working_tree_has_is_named(repository: Repository, reason: str, named: str) -> None:
    """A file that git tracks cannot be given to the base."""
    repository.write("src/mine/added.py", "")
    repository.commit("a module that the base lacks")
    for file in ("src/mine/_version.py", "src/mine/_C.abi3.so", "src/generated/api.py", "weights/a.pt"):
        repository.write(file, "")
    root = repository.root
    tree = root.with_name("base")
    text = reason.format(tree=tree)
    advised = with_advice(text, (tree, root), ["/elsewhere", str(tree / "src"), str(tree)])
    assert advised.removeprefix(text).rpartition("--ngraph-untracked=")[2] == named
    assert ("its sources are not compared" in advised) == named.endswith(".so")
    assert with_advice(text, None, []) == text
