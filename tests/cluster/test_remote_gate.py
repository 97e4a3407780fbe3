"""The gate on devices: base and head travel there, and the verdict is come to here."""

from __future__ import annotations

from pathlib import Path

from repository import Repository

from cluster.processes import Cluster
from cluster.remote_project import RemoteProject

SLEEPS = """
class Sleeps(Exact):
    def load(self, artifact, target, folder):
        seconds = artifact.reference()[-1][0][0]
        return Model(artifact.reference(), lambda: time.sleep(seconds))
"""


def test_what_became_slower_fails(loopback: Cluster, tmp_path: Path) -> None:
    loopback.start_device("red")
    project = RemoteProject(tmp_path, loopback, ["red"], workloads=["plain"], compilers=["mine:Sleeps"])
    repository = Repository(project.root)
    repository.git("init", "--quiet")
    repository.git("symbolic-ref", "HEAD", "refs/heads/main")
    repository.write(".gitignore", ".ngraph\n")
    repository.write("mine.py", (project.root / "mine.py").read_text() + SLEEPS)
    repository.write("numbers.txt", "0.001 2 3")
    repository.commit("fast")
    repository.write("numbers.txt", "0.003 2 3")
    status, printed = project.run("--ngraph-against=main")
    assert status == 1, printed
    assert "Against main at " in printed
    assert "1 regressed" in printed
    (record,) = project.records.values()
    assert record.comparison is not None
    assert sum(launch.fresh for launch in record.comparison.launches) >= 3
    assert repository.worktrees() == 1
