"""Git as it runs here, whatever the user has set."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from repository import Repository

from pytest_ngraph.against.revision import commits_since
from pytest_ngraph.bisect.commits import between


@pytest.fixture
def signed(tmp_path: Path) -> Repository:
    """A repository whose second commit is signed, by an author whose name is not ASCII."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    made = Repository.create(tmp_path / "project")
    made.commit("first")
    made.git("tag", "v1")
    sign = ("-c", "gpg.format=ssh", "-c", f"user.signingkey={key}.pub", "-c", "user.name=J. Müller")
    made.git(*sign, "commit", "--quiet", "--allow-empty", "--gpg-sign", "--message", "Größer")
    return made


@pytest.mark.parametrize(
    "setting", ["log.showSignature=true", "i18n.logOutputEncoding=ISO-8859-1", "color.ui=always", "log.date=iso"]
)
def test_no_setting_of_the_user_changes_what_is_read(signed: Repository, setting: str) -> None:
    signed.git("config", *setting.split("="))
    short = signed.git("rev-parse", "--short=7", "HEAD")
    assert commits_since("v1", signed.root).commits == (f"{short} Größer",)
    found = between("v1", "HEAD", signed.root, first_parent=False)
    (commit,) = map(found.commit, found.graph.order)
    assert (commit.short, commit.author, commit.subject) == (short, "J. Müller <user@example.org>", "Größer")
    assert len(commit.date) == len("2026-01-01")
