"""Which files are sent to a device."""

from __future__ import annotations

import errno
import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest
from repository import Repository

from pytest_ngraph.cluster.files import top
from pytest_ngraph.cluster.project import Packed, pack
from pytest_ngraph.errors import UsageError


def names(packed: Packed) -> set[str]:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed.content))) as tar:
        return set(tar.getnames())


def write(root: Path, *files: str) -> None:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def test_tracked_and_new_files_travel_and_ignored_ones_stay(repository: Repository) -> None:
    repository.write(".gitignore", "ignored.txt\n")
    repository.write(".github/workflows/ci.yml", "on: push\n")
    repository.commit("hidden, but tracked")
    write(repository.root, "new.py", "ignored.txt", "__pycache__/new.pyc", ".ngraph/run.jsonl", "venv/pyvenv.cfg")
    found = names(pack(repository.root))
    assert found == {".gitignore", ".github/workflows/ci.yml", "nets.py", "tests/deep/test_deep.py", "new.py"}


def test_a_tracked_file_that_was_deleted_is_not_missed(repository: Repository) -> None:
    (repository.root / "nets.py").unlink()
    assert names(pack(repository.root)) == {"tests/deep/test_deep.py"}


def test_the_files_of_a_submodule_travel(repository: Repository, tmp_path: Path) -> None:
    other = Repository.create(tmp_path / "other")
    other.write("layers.py", "")
    other.commit("layers")
    repository.git("submodule", "--quiet", "add", str(other.root), "vendor")
    assert "vendor/layers.py" in names(pack(repository.root))


def test_without_git_all_but_by_products_travel(tmp_path: Path) -> None:
    write(tmp_path, "nets.py", "data/weights.npz", ".hidden/x", "__pycache__/y", "env/pyvenv.cfg", "env/lib/z", ".env")
    write(tmp_path, "cache/CACHEDIR.TAG")
    assert names(pack(tmp_path)) == {"nets.py", "data/weights.npz"}


@pytest.mark.parametrize("trouble", ["another owner", "damaged index", "no git"])
def test_if_git_fails_nothing_is_sent(repository: Repository, monkeypatch: pytest.MonkeyPatch, trouble: str) -> None:
    repository.write(".gitignore", "ignored.txt\n")
    repository.commit("ignore")
    write(repository.root, "ignored.txt")
    if trouble == "another owner":
        monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        said = "git does not trust .* git config --global --add safe.directory"
    elif trouble == "damaged index":
        (repository.root / ".git" / "index").write_bytes(b"x" * 100)
        said = "the repository of .* cannot be used. git ls-files.*: bad index file|bad signature|index file"
    else:
        monkeypatch.setenv("PATH", "")
        said = "is a git repository, and git is not installed.* Install git"
    with pytest.raises(UsageError, match=said):
        pack(repository.root)
    if trouble != "damaged index":
        with pytest.raises(UsageError, match=said):
            top(repository.root / "tests")


def test_where_git_ignores_all_nothing_is_sent(repository: Repository) -> None:
    repository.git("rm", "-r", "--quiet", ".")
    repository.write(".gitignore", "*\n")
    write(repository.root, "ignored.txt")
    assert names(pack(repository.root)) == set()


SECRETS = [".env", "deploy/.env.prod", ".aws/config", "ci/id_ed25519", "tls/server.key", ".npmrc", "store.P12"]


def test_files_that_look_like_secrets_stay_and_are_named(tmp_path: Path) -> None:
    in_folders = [name for name in SECRETS if not name.startswith(".aws/")]  # without git, no hidden folder is sent
    write(tmp_path, "nets.py", ".env.example", "keys.py", "monkey.py", *in_folders)
    (tmp_path / "upload.py").write_text(f'TOKEN = "ghp_{"a" * 36}"')
    (tmp_path / "pair.pem").write_text("-----BEGIN EC PRIVATE KEY-----\n")
    (tmp_path / "public.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    packed = pack(tmp_path)
    assert names(packed) == {"nets.py", ".env.example", "keys.py", "monkey.py", "public.pem"} == set(packed.sizes)
    assert set(packed.left_out) == {*in_folders, "upload.py", "pair.pem"}
    assert packed.left_out["upload.py"] == "it holds a GitHub token"
    assert packed.left_out["pair.pem"] == "it holds a private key"


@pytest.mark.parametrize("padding", [0, 2 * 2**20, 2**20 - 5], ids=["at the start", "behind 2 MiB", "across 1 MiB"])
def test_a_token_is_found_wherever_it_is_in_a_text(tmp_path: Path, padding: int) -> None:
    (tmp_path / "upload.log").write_text(f"{'x ' * (padding // 2)}\nghp_{'a' * 36}\n")
    assert pack(tmp_path).left_out == {"upload.log": "it holds a GitHub token"}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_token_is_found_in_text_as_windows_writes_it(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "token.txt").write_bytes(f"\ufeff{'x ' * 2**20}\nghp_{'a' * 36}\n".encode(encoding))
    assert pack(tmp_path).left_out == {"token.txt": "it holds a GitHub token"}


def test_data_are_looked_at_in_part_alone(tmp_path: Path) -> None:
    """Bytes at random may look like a token, the more of them there are."""
    (tmp_path / "weights.bin").write_bytes(bytes(2 * 2**20) + f"\nghp_{'a' * 36}\n".encode())
    assert pack(tmp_path).left_out == {}


def test_a_token_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"NAME = 'xghp_{'a' * 36}', 'ghp_{'a' * 37}'")
    (tmp_path / "b.py").write_text(f"NAME = 'xghp_{'a' * 36} ghp_{'b' * 36}'")
    assert set(pack(tmp_path).left_out) == {"b.py"}


def test_secrets_that_git_tracks_stay_too(repository: Repository) -> None:
    for name in SECRETS:
        repository.write(name, "x\n")
    repository.commit("an accident")
    assert set(pack(repository.root).left_out) == set(SECRETS)


def test_a_link_to_a_secret_is_judged_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    (tmp_path / ".env").symlink_to("a.py")
    assert set(pack(tmp_path).left_out) == {".env"}


def test_only_what_is_to_be_sent_travels(tmp_path: Path) -> None:
    write(tmp_path, "src/nets.py", "src/deep/layers.py", "benchmarks/test_a.py")
    write(tmp_path, "paper.pdf", "certs/test.key", "src/.env")
    packed = pack(tmp_path, send=["src", "benchmarks/*.py", "certs/test.key"])
    assert names(packed) == {"src/nets.py", "src/deep/layers.py", "benchmarks/test_a.py", "certs/test.key"}
    assert set(packed.left_out) == {"src/.env"}


def test_what_is_left_out_does_not_travel(tmp_path: Path) -> None:
    write(tmp_path, "nets.py", "report/index.html", "store/run.jsonl")
    assert names(pack(tmp_path, [tmp_path / "report", tmp_path / "store"])) == {"nets.py"}


def test_the_same_content_is_the_same_archive_wherever_and_whenever(tmp_path: Path) -> None:
    for name in ("here", "there"):
        write(tmp_path / name, "b.py", "a/c.py")
    (tmp_path / "there" / "b.py").touch()
    assert pack(tmp_path / "here") == pack(tmp_path / "there")


@pytest.mark.parametrize("change", ["content", "name", "mode"])
def test_any_change_is_another_archive(tmp_path: Path, change: str) -> None:
    write(tmp_path, "a.py")
    before = pack(tmp_path)
    if change == "content":
        (tmp_path / "a.py").write_text("other")
    elif change == "name":
        (tmp_path / "a.py").rename(tmp_path / "b.py")
    else:
        (tmp_path / "a.py").chmod(0o755)
    assert pack(tmp_path).digest != before.digest


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "inner/../../secret"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, target: str) -> None:
    write(tmp_path, "project/inner/a.py", "secret")
    (tmp_path / "project" / "link").symlink_to(target)
    with pytest.raises(UsageError, match=r"the link link leads out of the project.* is to be sent: --ngraph-send="):
        pack(tmp_path / "project")


def refuse(path: Path) -> bool:
    """Stand for a method of a path that a user may not look at, since the user who tests may be root."""
    if "postgres" in path.parts:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return True


def test_a_folder_that_the_user_may_not_enter_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "nets.py", "postgres/data")
    monkeypatch.setattr(Path, "exists", refuse)
    monkeypatch.setattr(Path, "is_file", refuse)
    monkeypatch.setattr(os, "access", lambda path, mode: "postgres" not in Path(path).parts)
    assert names(pack(tmp_path)) == {"nets.py"}


def test_a_tracked_file_in_such_a_folder_is_named(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.write("postgres/data", "")
    repository.commit("data")
    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(UsageError, match=r"postgres/data cannot be sent to a device: Permission denied.*\.gitignore"):
        pack(repository.root)


def test_what_cannot_be_sent_is_to_be_listed_where_git_looks(repository: Repository) -> None:
    (repository.root / "link").symlink_to("/etc")
    with pytest.raises(UsageError, match=r"list it in \.gitignore, without a slash at its end\."):
        pack(repository.root)
    (repository.root / "link").unlink()
    with pytest.raises(UsageError, match=r"To send less, list what the benchmarks do not need in \.gitignore"):
        pack(repository.root, limit_bytes=1)


def test_links_that_lead_in_a_circle_travel_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    assert names(pack(tmp_path)) == {"one", "two"}


def test_a_project_that_is_too_big_names_its_biggest_files(tmp_path: Path) -> None:
    write(tmp_path, "small.py")
    (tmp_path / "weights.bin").write_bytes(bytes(2**20))
    said = r"2 files; at most 0\.5 MiB.*weights\.bin \(1\.0 MiB\), small\.py.*: --ngraph-send="
    with pytest.raises(UsageError, match=said):
        pack(tmp_path, limit_bytes=2**19)


def test_a_project_begins_at_the_top_of_its_repository(repository: Repository, tmp_path: Path) -> None:
    assert top(repository.root / "tests" / "deep") == repository.root
    assert top(tmp_path) == tmp_path


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("x")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(UsageError, match=r"secret cannot be sent to a device: Permission denied\. Make it readable"):
        pack(tmp_path)
