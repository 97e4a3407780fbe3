"""Projects on a device."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tracemalloc
from pathlib import Path

import pytest
from cluster.unpacked import unpack
from repository import Repository

from pytest_ngraph.cluster.device.arriving import Arriving
from pytest_ngraph.cluster.device.projects import AT_ONCE, UNFINISHED, Projects
from pytest_ngraph.cluster.project import Packed, pack
from pytest_ngraph.errors import NgraphError

AS_OTHERS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
"""How a command begins that files' modes hold for: those of root without a certain right."""
REMOVE = """
import sys
from pathlib import Path
from pytest_ngraph.cluster.device.projects import Projects
Projects(Path(sys.argv[1])).remove("0" * 64)
"""


def project(folder: Path, text: str = "text") -> Packed:
    folder.mkdir()
    (folder / "package").mkdir()
    (folder / "package" / "nets.py").write_text(text)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o750)
    (folder / "relative").symlink_to("package/nets.py")
    (folder / "absolute").symlink_to(folder / "package")
    return pack(folder)


def archive(*entries: tarfile.TarInfo) -> Packed:
    """Return an archive of these entries, which `pack` would never make."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for entry in entries:
            tar.addfile(entry)
    plain = content.getvalue()
    return Packed(digest=hashlib.sha256(plain).hexdigest(), content=gzip.compress(plain))


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


def landing_place(projects: Path, name: str) -> Path:
    """Return where an entry of this name would land if it were unpacked without a check."""
    return Path(os.path.normpath(projects / f"{UNFINISHED}1" / name))


def test_what_else_lies_in_the_folder_stays(tmp_path: Path) -> None:
    """Somebody gives a device a folder that has a folder `projects` already."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / ".cache").mkdir()
    projects = Projects(tmp_path, kept=0)
    (tmp_path / f"{UNFINISHED}x").mkdir()
    unpack(project(tmp_path / "thesis" / "code"), projects, tmp_path / "arriving")
    projects.bound(0)
    projects.clear()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".cache", "thesis"]


def test_what_is_unpacked_is_what_was_packed(tmp_path: Path) -> None:
    packed = project(tmp_path / "project")
    projects = Projects(tmp_path / "projects")
    unpack(packed, projects, tmp_path / "arriving")
    with projects.held(packed.digest) as folder:
        assert (folder / "package" / "nets.py").read_text() == "text"
        assert os.access(folder / "run.sh", os.X_OK)
        assert (folder / "relative").read_text() == "text"
        assert (folder / "absolute").resolve() == (folder / "package").resolve()
        assert pack(folder).digest == pack(tmp_path / "project").digest


@pytest.mark.parametrize("by_git", [True, False], ids=["git", "no git"])
def test_links_to_virtual_environments_and_through_the_folder_around_the_project(tmp_path: Path, by_git: bool) -> None:
    root, environment = tmp_path / "proj", tmp_path / "environments" / "x"
    if by_git:
        Repository.create(root)
    for folder in (environment, root / "data", root / "bench"):
        folder.mkdir(parents=True)
    (environment / "pyvenv.cfg").touch()
    (root / ".gitignore").write_text("venv/\n")  # as in GitHub's template: git takes it for folders alone
    (root / "venv").symlink_to(environment)
    (root / "data" / "weights").write_text("w")
    (root / "bench" / "data").symlink_to("../../proj/data")
    (root / "bench" / "current").symlink_to("../bench/data/weights")
    packed = pack(root)
    assert set(packed.sizes) == {".gitignore", "data/weights", "bench/data", "bench/current"}
    projects = Projects(tmp_path / "projects")
    unpack(packed, projects, tmp_path / "arriving")
    with projects.held(packed.digest) as folder:
        assert (folder / "bench" / "data" / "weights").read_text() == "w"
        assert (folder / "bench" / "current").read_text() == "w"


def test_unpacked_once(tmp_path: Path) -> None:
    packed = project(tmp_path / "project")
    projects = Projects(tmp_path / "projects")
    unpack(packed, projects, tmp_path / "arriving")
    with projects.held(packed.digest) as folder:
        (folder / "package" / "trace").touch()
        unpack(packed, projects, tmp_path / "arriving")
        assert (folder / "package" / "trace").exists()


@pytest.mark.parametrize("content", [b"", b"no archive", gzip.compress(b"another")], ids=["empty", "text", "another"])
def test_a_damaged_archive_leaves_nothing(tmp_path: Path, content: bytes) -> None:
    projects = Projects(tmp_path / "projects")
    packed = Packed(digest=project(tmp_path / "project").digest, content=content)
    with pytest.raises(NgraphError, match="damaged"):
        unpack(packed, projects, tmp_path / "arriving")
    assert list((tmp_path / "projects").iterdir()) == []


@pytest.mark.parametrize(
    "hostile",
    [
        [entry("../out")],
        [entry("{tmp_path}/out")],
        [entry("device", tarfile.CHRTYPE)],
        [entry("hard", tarfile.LNKTYPE, "/etc/passwd")],
        [entry("link", tarfile.SYMTYPE, "/etc")],
        [entry("link", tarfile.SYMTYPE, "..")],
        [entry("a", tarfile.SYMTYPE, "b/.."), entry("b", tarfile.SYMTYPE, ".")],
    ],
    ids=["parent", "absolute", "device", "hard link", "link", "parent link", "two links"],
)
def test_an_entry_that_leads_out_is_refused(tmp_path: Path, hostile: list[tarfile.TarInfo]) -> None:
    folder = tmp_path / "projects"
    entries = [entry(each.name.format(tmp_path=tmp_path), each.type, each.linkname) for each in hostile]
    with pytest.raises(NgraphError, match="the archive of the project has"):
        unpack(archive(*entries), Projects(folder), tmp_path / "arriving")
    for each in entries:
        assert not os.path.lexists(landing_place(folder, each.name))
    assert list(folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("name", ["../out", "{tmp_path}/out"])
def test_an_unchecked_entry_would_land_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The test above looks in the right places."""
    monkeypatch.setattr("pytest_ngraph.cluster.device.projects._check", lambda entry: None)
    folder, name = tmp_path / "projects", name.format(tmp_path=tmp_path)
    unpack(archive(entry(name)), Projects(folder), tmp_path / "arriving")
    assert landing_place(folder, name).is_file()


def test_no_file_is_written_through_a_link(tmp_path: Path) -> None:
    packed = archive(entry("link", tarfile.SYMTYPE, str(tmp_path)), entry("link/out"))
    with pytest.raises(NgraphError):
        unpack(packed, Projects(tmp_path / "projects"), tmp_path / "arriving")
    assert not (tmp_path / "out").exists()


def test_the_least_recently_used_goes_first_and_none_that_is_held(tmp_path: Path) -> None:
    projects = Projects(tmp_path / "projects", kept=2)
    packed = [project(tmp_path / f"project{number}", str(number)) for number in range(4)]
    for number, each in enumerate(packed[:3]):
        unpack(each, projects, tmp_path / "arriving")
        os.utime(tmp_path / "projects" / each.digest, (number, number))
    assert [projects.has(each.digest) for each in packed[:3]] == [False, True, True]
    with projects.held(packed[1].digest):
        os.utime(tmp_path / "projects" / packed[1].digest, (0, 0))
        unpack(packed[3], projects, tmp_path / "arriving")
        assert [projects.has(each.digest) for each in packed] == [False, True, True, True]


def test_what_is_not_there_cannot_be_held(tmp_path: Path) -> None:
    with pytest.raises(NgraphError, match="not on this device"), Projects(tmp_path).held("0" * 64):
        pytest.fail("held")


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    left_over = tmp_path / "projects" / f"{UNFINISHED}1"
    left_over.mkdir(parents=True)
    unpack(project(tmp_path / "project"), Projects(tmp_path / "projects"), tmp_path / "arriving")
    assert not left_over.exists()


def test_a_link_is_not_made_through_another(tmp_path: Path) -> None:
    packed = archive(entry("out", tarfile.SYMTYPE, "../.."), entry("out/planted", tarfile.SYMTYPE, "x"))
    with pytest.raises(NgraphError, match="leads out of it"):
        unpack(packed, Projects(tmp_path / "projects"), tmp_path / "arriving")
    assert not list(tmp_path.rglob("planted"))


def test_a_project_is_removed_unless_it_is_in_use(tmp_path: Path) -> None:
    packed, other = project(tmp_path / "project"), project(tmp_path / "other", "other")
    projects = Projects(tmp_path / "projects")
    for each in (packed, other):
        unpack(each, projects, tmp_path / "arriving")
    (tmp_path / "projects" / f"{UNFINISHED}left").mkdir()
    with projects.held(packed.digest):
        projects.remove(packed.digest)
        projects.clear()
        assert [path.name for path in (tmp_path / "projects").iterdir()] == [packed.digest]
    projects.remove(packed.digest)
    projects.remove("never was there")
    assert list((tmp_path / "projects").iterdir()) == []
    Projects(tmp_path / "nowhere").clear()


def test_a_project_of_any_size_is_unpacked_in_little_memory(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "weights.bin").write_bytes(os.urandom(24 * AT_ONCE))
    packed = pack(tmp_path / "project")
    arriving = Arriving(tmp_path / "arriving")
    arriving.add(0, packed.content)
    tracemalloc.start()
    try:
        with arriving.whole() as archive:
            Projects(tmp_path / "projects").unpack(packed.digest, archive)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tmp_path / "projects" / packed.digest / "weights.bin").stat().st_size == 24 * AT_ONCE
    assert most < 8 * AT_ONCE


def test_files_that_are_more_than_may_be_sent_are_refused(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    for name in ("first", "second"):
        (tmp_path / "project" / name).write_bytes(bytes(2**20))  # an archive of some kilobytes
    packed, at_most = pack(tmp_path / "project"), 2 * 2**20
    with pytest.raises(NgraphError, match="the files of the project have more than 2 MiB"):
        unpack(packed, Projects(tmp_path / "projects", limit_bytes=at_most - 1), tmp_path / "arriving")
    assert list((tmp_path / "projects").iterdir()) == []
    unpack(packed, Projects(tmp_path / "projects", limit_bytes=at_most), tmp_path / "arriving")


def test_what_is_removed_in_part_is_no_project_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the next session with the same project would find a half of it."""
    packed, projects = project(tmp_path / "project"), Projects(tmp_path / "projects")
    unpack(packed, projects, tmp_path / "arriving")
    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", lambda folder, **others: (folder / "run.sh").unlink())
        projects.remove(packed.digest)
    assert not projects.has(packed.digest)
    unpack(packed, projects, tmp_path / "arriving")
    assert [path.name for path in (tmp_path / "projects").iterdir()] == [packed.digest]
    assert (tmp_path / "projects" / packed.digest / "run.sh").exists()


@pytest.mark.skipif(shutil.which(AS_OTHERS[0]) is None if AS_OTHERS else False, reason="root may remove anything")
def test_what_submitted_code_made_read_only_is_removed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    folder = tmp_path / "projects" / ("0" * 64)
    (folder / "cache").mkdir(parents=True)
    (folder / "cache" / "file").touch()
    (folder / "cache" / "link").symlink_to(outside)
    (folder / "cache").chmod(0o500)
    folder.chmod(0o500)
    command = [*AS_OTHERS, sys.executable, "-c", REMOVE, str(folder.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(folder.parent.iterdir()) == []
    assert outside.stat().st_mode & 0o777 == 0o500
