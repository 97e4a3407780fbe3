"""From a name to a commit: what is found, how the head is described, and every message."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from repository import Repository

from pytest_ngraph.against.revision import commits_since, head_of, resolve
from pytest_ngraph.errors import UsageError


def test_a_branch_and_the_head(repository: Repository) -> None:
    base = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "--quiet", "-b", "feature")
    head = repository.commit("second")
    found = resolve("main", repository.root / "tests")
    assert (found.sha, found.root, found.folder) == (base, repository.root.resolve(), Path("tests"))
    assert found.description == f"base: main at {base[:7]}, head: feature at {head[:7]}"


@pytest.mark.parametrize("name", ["v1", "HEAD~1", "main@{0}", "main~0", "HEAD^{/first}"])
def test_any_name_that_git_knows(repository: Repository, name: str) -> None:
    base = repository.git("rev-parse", "HEAD")
    repository.git("tag", "--annotate", "v1", "--message", "one")
    repository.git("checkout", "--quiet", "-b", "feature")
    repository.commit("second")
    assert resolve(name, repository.root).sha == base


def test_a_commit_is_named_once(repository: Repository) -> None:
    sha = repository.git("rev-parse", "HEAD")
    assert str(resolve(sha, repository.root)) == str(resolve(sha[:9], repository.root)) == sha[:7]


def test_three_dots_are_where_the_head_left(repository: Repository) -> None:
    left = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "--quiet", "-b", "feature")
    repository.commit("on feature")
    repository.git("checkout", "--quiet", "main")
    later = repository.commit("on main")
    repository.git("checkout", "--quiet", "feature")
    assert (resolve("main...", repository.root).sha, resolve("main", repository.root).sha) == (left, later)


def test_three_dots_without_a_common_commit(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.commit("another start")
    with pytest.raises(
        UsageError, match=r"main\.\.\.: main and HEAD have no commit in common. Compare with 'main' itself"
    ):
        resolve("main...", repository.root)


def test_base_and_head_are_the_same(repository: Repository) -> None:
    repository.write(".git/info/exclude", "ignored.py\n")
    repository.write("ignored.py", "")
    assert "the same code" in resolve("HEAD", repository.root).description


def test_a_file_that_only_the_head_has_may_differ(repository: Repository) -> None:
    repository.write("tests/conftest.py", "")
    assert "the same code" not in resolve("HEAD", repository.root).description


def test_a_dirty_tree_is_not_its_commit(repository: Repository) -> None:
    repository.write("nets.py", "REVISION = 'not committed'\n")
    found = resolve("HEAD", repository.root)
    assert not found.is_head
    assert found.description.endswith("with uncommitted changes")


def test_files_that_git_does_not_track_are_no_change(repository: Repository) -> None:
    repository.write(".ngraph/run.jsonl", "{}")
    assert not resolve("HEAD", repository.root).head.dirty


def test_a_detached_head(repository: Repository) -> None:
    sha = repository.commit("second")
    repository.git("checkout", "--quiet", "--detach")
    assert resolve("main~1", repository.root).description.endswith(f"head: detached at {sha[:7]}")


def test_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageError, match=r"is not in a git repository.*Run pytest in a clone"):
        resolve("main", tmp_path)


def test_another_users_repository(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    with pytest.raises(UsageError, match=r"another user owns it. Trust it: git config --global --add safe\.directory"):
        resolve("main", repository.root)


def test_no_git(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository.root))
    with pytest.raises(UsageError, match="git is not installed, or not on PATH"):
        resolve("main", repository.root)


def test_no_commits(tmp_path: Path) -> None:
    empty = Repository.create(tmp_path / "empty")
    with pytest.raises(UsageError, match=r"has no commits yet.*Commit first"):
        resolve("main", empty.root)


@pytest.mark.parametrize("name", ["nope", "HEAD~99", "main..feature", "HEAD:nets.py", "main nope", "--all", ""])
def test_no_such_revision(repository: Repository, name: str) -> None:
    with pytest.raises(UsageError, match=r"revision.*Give a branch, a tag, a commit, HEAD~1, or main\.\.\."):
        resolve(name, repository.root)


def test_a_near_name_is_suggested(repository: Repository) -> None:
    with pytest.raises(UsageError, match=r"no revision 'mian'.*Did you mean 'main'"):
        resolve("mian", repository.root)


def test_a_branch_that_only_the_remote_has(repository: Repository, tmp_path: Path) -> None:
    repository.git("branch", "release")
    repository.git("clone", "--quiet", str(repository.root), str(tmp_path / "clone"))
    with pytest.raises(UsageError, match="There is origin/release: give that"):
        resolve("release", tmp_path / "clone")
    assert resolve("origin/release", tmp_path / "clone").name == "origin/release"


def test_digits_of_several_commits(repository: Repository) -> None:
    """Among a thousand commits, some share their first four digits."""
    commits = (
        f"commit refs/heads/many\ncommitter A. User <user@example.org> {number} +0000\ndata 0\n"
        for number in range(1000)
    )
    repository.git("fast-import", "--quiet", given="".join(commits))
    shas = repository.git("log", "--format=%H", "many").splitlines()
    digits, _ = Counter(sha[:4] for sha in shas).most_common(1)[0]
    with pytest.raises(UsageError, match=r"matches several commits. Give more of its digits"):
        resolve(digits, repository.root)


@pytest.mark.parametrize("name", ["main", "HEAD~1", "v0"])
def test_a_shallow_clone(repository: Repository, tmp_path: Path, name: str) -> None:
    repository.git("checkout", "--quiet", "-b", "feature")
    repository.commit("second")
    url = f"file://{repository.root}"
    repository.git("clone", "--quiet", "--depth=1", "--branch=feature", url, str(tmp_path / "clone"))
    with pytest.raises(UsageError, match=r"This clone is shallow.*git fetch --unshallow.*fetch-depth: 0"):
        resolve(name, tmp_path / "clone")


def test_the_advice_for_a_shallow_clone_works(repository: Repository, tmp_path: Path) -> None:
    base = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "--quiet", "-b", "feature")
    repository.commit("second")
    url = f"file://{repository.root}"
    repository.git("clone", "--quiet", "--depth=1", "--branch=feature", url, str(tmp_path / "clone"))
    clone = Repository(tmp_path / "clone")
    clone.git("fetch", "--quiet", "--unshallow", "origin", "+refs/heads/*:refs/remotes/origin/*")
    assert resolve("origin/main", clone.root).sha == resolve("origin/main...", clone.root).sha == base


def test_an_outer_git_does_not_mislead(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Repository.create(tmp_path / "other")
    other.commit("of another repository")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.root / ".git" / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.root))
    assert resolve("main", repository.root).root == repository.root.resolve()


def test_a_repository_that_git_cannot_read_has_no_head(repository: Repository) -> None:
    assert head_of(repository.root) is not None
    (repository.root / ".git" / "index").write_bytes(b"damaged")
    assert head_of(repository.root) is None


def test_how_a_branch_and_its_base_went_apart(repository: Repository) -> None:
    left = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "--quiet", "-b", "feature")
    typo = repository.commit("Fix a typo")
    assert commits_since("main", repository.root) == ((f"{typo[:7]} Fix a typo",), 0, 0, (left[:7], typo[:7]))
    repository.git("checkout", "--quiet", "main")
    later = repository.commit("Make it faster")
    repository.git("checkout", "--quiet", "feature")
    assert commits_since("main", repository.root).lacking == 1
    assert commits_since("main...", repository.root).lacking == 0
    repository.git("merge", "--quiet", "--no-edit", "main")
    found = commits_since("main", repository.root)
    assert (found.commits, found.merges, found.lacking) == ((f"{typo[:7]} Fix a typo",), 1, 0)
    assert found.ends == (later[:7], repository.git("rev-parse", "--short=7", "HEAD"))
    repository.write("nets.py", "REVISION = 'not committed'\n")
    assert commits_since("main", repository.root) == ((), 0, 0, ())
    assert commits_since("nope", repository.root) == ((), 0, 0, ())


def test_the_merge_that_a_pull_request_is_checked_out_as_is_no_commit_of_it(repository: Repository) -> None:
    """GitHub makes it, and no clone has it. The branch and where it forked are everywhere."""
    fork = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "--quiet", "-b", "feature")
    widened = repository.commit("Widen")
    repository.git("checkout", "--quiet", "main")
    repository.commit("Make it faster")
    repository.git("checkout", "--quiet", "--detach", "main")
    repository.git("merge", "--quiet", "--no-ff", "--no-edit", "feature")
    for base in ("main...", "main", "HEAD^1"):
        found = commits_since(base, repository.root)
        assert found == ((f"{widened[:7]} Widen",), 0, 0, (fork[:7], widened[:7]))
    assert commits_since(fork, repository.root).merges == 1, "that is not where the merge begins"
    repository.git("checkout", "--quiet", "-b", "merged")
    assert commits_since("main", repository.root).merges == 1, "a merge of the user's own"


def test_branches_without_a_common_commit_name_none(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.commit("another start")
    assert commits_since("main", repository.root) == ((), 0, 0, ())
