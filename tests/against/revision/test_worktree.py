"""A worktree: its files, and that nothing of it is left over, however its process ends."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from repository import Repository

from pytest_ngraph.against.revision import Worktree, resolve
from pytest_ngraph.against.revision.worktree import remove_left_over
from pytest_ngraph.errors import NgraphError, UsageError


def _left(repository: Repository, parent: Path) -> tuple[int, list[Path]]:
    return repository.worktrees(), list(parent.iterdir())


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def test_it_has_the_files_of_its_revision(repository: Repository, parent: Path) -> None:
    repository.write("nets.py", "REVISION = 'second'\n")
    with Worktree(resolve("HEAD", repository.root / "tests"), parent) as worktree:
        assert (worktree.root / "nets.py").read_text() == "REVISION = 'first'\n"
        assert worktree.cwd == worktree.root / "tests"
        assert repository.worktrees() == 2
    assert _left(repository, parent) == (1, [])
    assert not (repository.root / ".git" / "worktrees").exists()
    assert (repository.root / "nets.py").read_text() == "REVISION = 'second'\n"


@pytest.mark.parametrize("umask", [0o000, 0o002])
def test_nobody_else_reads_it_whatever_the_umask(umask: int, repository: Repository, parent: Path) -> None:
    before = os.umask(umask)
    try:
        with Worktree(resolve("HEAD", repository.root), parent) as tree:
            assert stat.S_IMODE(tree.root.stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_several_at_a_time(repository: Repository, parent: Path) -> None:
    revision = resolve("HEAD", repository.root)
    with Worktree(revision, parent) as first, Worktree(revision, parent) as second:
        assert first.root != second.root
        assert (first.root / "nets.py").is_file()
        assert (second.root / "nets.py").is_file()
    assert _left(repository, parent) == (1, [])


def test_from_a_linked_worktree(repository: Repository, parent: Path, tmp_path: Path) -> None:
    repository.git("worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "linked"))
    with Worktree(resolve("main", tmp_path / "linked"), parent) as worktree:
        assert (worktree.root / "nets.py").is_file()
    assert _left(repository, parent) == (2, [])


def test_a_folder_that_the_base_lacks_is_made(repository: Repository, parent: Path) -> None:
    repository.write("new/deep/test_new.py", "")
    with Worktree(resolve("HEAD", repository.root / "new" / "deep"), parent) as worktree:
        assert worktree.cwd.is_dir()


def test_a_folder_that_is_a_file_at_the_base(repository: Repository, parent: Path) -> None:
    (repository.root / "nets.py").unlink()
    repository.write("nets.py/test_it.py", "")
    with pytest.raises(UsageError, match=r"nets\.py, is a file at HEAD at .*Run pytest from another folder"):
        Worktree(resolve("HEAD", repository.root / "nets.py"), parent).__enter__()
    assert _left(repository, parent) == (1, [])


def test_git_cannot_check_out(repository: Repository, parent: Path) -> None:
    revision = resolve("HEAD", repository.root)
    blob = repository.git("rev-parse", "HEAD:nets.py")
    (repository.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(NgraphError, match=r"HEAD at .* cannot be checked out. git worktree add"):
        Worktree(revision, parent).__enter__()
    assert _left(repository, parent) == (1, [])


def test_where_nothing_can_be_written_is_one_message(repository: Repository, parent: Path) -> None:
    with pytest.raises(NgraphError, match=r"^HEAD at .* cannot be checked out: .*No such file or directory: .*nowhere"):
        Worktree(resolve("HEAD", repository.root), parent / "nowhere").__enter__()
    assert _left(repository, parent) == (1, [])


def test_hooks_do_not_run(repository: Repository, parent: Path) -> None:
    hook = repository.write(".git/hooks/post-checkout", f"#!/bin/sh\ntouch {parent}/ran\n")
    hook.chmod(0o755)
    with Worktree(resolve("HEAD", repository.root), parent):
        assert not (parent / "ran").exists()


def test_variables_that_lead_into_the_working_tree_lead_here(repository: Repository, parent: Path) -> None:
    """But not to what the revision is not to have: environments, caches, what was built."""
    root = repository.root.resolve()
    for file in ("configs/net.yaml", ".venv/bin/python", ".cache/weights.pt"):
        repository.write(file, "")
    repository.git("add", "configs")
    given = {
        "CONFIG": f"{root}/nets.py",
        "CONFIGS": f"{root}/configs/",
        "PYTHONPATH": f"{root}/tests:/usr/lib::{root}",
        "PATH": f"{root}/.venv/bin:/usr/bin",
        "VIRTUAL_ENV": f"{root}/.venv",
        "CACHE": f"{root}/.cache/",
        "OUTPUT": f"{root}/out",
        "DATABASE": f"sqlite:///{root}/nets.py",
        "OPTIONS": f"--config={root}/nets.py",
        "HOME": str(root),
        "CONDA_PREFIX": str(root),
        "COV_CORE_SOURCE": str(root),
        "RELATIVE": "tests/deep",
        "ELSEWHERE": "/elsewhere",
    }
    with Worktree(resolve("HEAD", root), parent) as tree:
        assert tree.variables(given) == {
            "CONFIG": f"{tree.root}/nets.py",
            "CONFIGS": f"{tree.root}/configs/",
            "PYTHONPATH": f"{tree.root}/tests:/usr/lib::{tree.root}",
        }


def test_a_variable_that_leads_to_pytest_ngraph_stays(
    repository: Repository, parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its own repository, the base is measured with the head's pytest-ngraph."""
    root = repository.root.resolve()
    monkeypatch.setattr("pytest_ngraph.against.revision.worktree.PACKAGE_FOLDER", root / "tests" / "pytest_ngraph")
    with Worktree(resolve("HEAD", root), parent) as tree:
        assert tree.variables({"PYTHONPATH": f"{root}/tests"}) == {}


INTERRUPTED = """
import signal, sys
from pathlib import Path
from pytest_ngraph.against.revision import Worktree, resolve

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background processes without it
with Worktree(resolve("HEAD", Path(sys.argv[1])), Path(sys.argv[2])) as worktree:
    print("ready", flush=True)
    sys.stdin.read()
"""


def _start(repository: Repository, parent: Path) -> subprocess.Popen[str]:
    """Start a process that has a worktree, or is about to make one."""
    return subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(repository.root), str(parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _is_ready(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    return process.stdout.readline() == "ready\n"


def test_an_interrupt_removes_it(repository: Repository, parent: Path) -> None:
    with _start(repository, parent) as process:
        assert _is_ready(process)
        assert repository.worktrees() == 2
        process.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in process.communicate()[1]
    assert _left(repository, parent) == (1, [])


def test_an_interrupt_in_the_middle_of_the_checkout_removes_it(repository: Repository, parent: Path) -> None:
    """The checkout waits in a filter until the interrupt has come."""
    fifo = parent.parent / "fifo"
    repository.git("config", "filter.slow.smudge", f"sh -c 'mkfifo {fifo}; cat {fifo}'")
    repository.write(".gitattributes", "slow.txt filter=slow\n")
    repository.write("slow.txt", "slow")
    repository.commit("a file that takes for ever")
    with _start(repository, parent) as process:
        while not fifo.exists():
            assert process.poll() is None
        assert repository.worktrees() == 2
        process.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in process.communicate()[1]
    assert _left(repository, parent) == (1, [])


def test_what_a_killed_process_left_goes_with_the_next(repository: Repository, parent: Path) -> None:
    with _start(repository, parent) as process:
        assert _is_ready(process)
        process.kill()
    assert repository.worktrees() == 2
    with Worktree(resolve("HEAD", repository.root), parent):
        assert repository.worktrees() == 2
    assert _left(repository, parent) == (1, [])


def test_what_is_left_of_a_folder_that_is_not_here_goes_after_a_week(repository: Repository, parent: Path) -> None:
    """A run in another container has its folder elsewhere, and would lose what git knows of it."""
    with _start(repository, parent) as process:
        assert _is_ready(process)
        process.kill()
    next(parent.iterdir()).rename(parent.parent / "elsewhere")
    (git_file,) = (repository.root / ".git" / "worktrees").glob("*/gitdir")
    for days, worktrees in ((0, 3), (6, 3), (8, 2)):
        os.utime(git_file, times=(0, time.time() - days * 24 * 3600))
        with Worktree(resolve("HEAD", repository.root), parent):
            assert repository.worktrees() == worktrees


def test_paths_that_git_writes_relative(repository: Repository, parent: Path) -> None:
    """Since git 2.48, worktree.useRelativePaths does so."""
    with _start(repository, parent) as process:
        assert _is_ready(process)
        (administration,) = (repository.root / ".git" / "worktrees").iterdir()
        file = administration / "gitdir"
        file.write_text(f"{os.path.relpath(file.read_text().strip(), administration)}\n")
        remove_left_over(repository.root / ".git")
        assert administration.exists()
        process.kill()
    remove_left_over(repository.root / ".git")
    assert not administration.exists()
    assert not list(parent.iterdir())


def test_worktrees_of_living_processes_and_of_the_user_stay(
    repository: Repository, parent: Path, tmp_path: Path
) -> None:
    repository.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "own"))
    with _start(repository, parent) as process:
        assert _is_ready(process)
        with Worktree(resolve("HEAD", repository.root), parent):
            assert repository.worktrees() == 4
        assert repository.worktrees() == 3
        process.communicate()
    assert _left(repository, parent) == (2, [])


def test_paths_are_moved(repository: Repository, parent: Path) -> None:
    with Worktree(resolve("HEAD", repository.root), parent) as worktree:
        inside = str(repository.root / "a" / "net.onnx")
        assert worktree.to_base(inside) == str(worktree.root / "a" / "net.onnx")
        assert worktree.to_head(worktree.to_base(inside)) == str(repository.root.resolve() / "a" / "net.onnx")
        assert worktree.to_base(f"{repository.root}/test_it.py::test[a]") == f"{worktree.root}/test_it.py::test[a]"
        for other in ("resnet18", "nets:build", "a/net.onnx", "/elsewhere/net.onnx", f"{repository.root}-2/net.onnx"):
            assert worktree.to_base(other) == other
