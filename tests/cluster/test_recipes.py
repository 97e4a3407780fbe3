"""The recipes of docs/cluster-recipes.md, as they stand there, as far as this machine has what they need."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.certificates import options_for
from cluster.network import Network
from cluster.processes import COMMAND, HEAD, Cluster
from cluster.remote_project import RemoteProject
from fault_project import wait_until
from pages import blocks, commands

PAGE = "docs/cluster-recipes.md"
SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
SSH_PORT = 2222


def recipe(first_line: str) -> str:
    """Return the block of Python that begins with this line."""
    (found,) = [block.text for block in blocks("python") if block.page == PAGE and block.text.startswith(first_line)]
    return found


def words(*beginning: str) -> list[str]:
    """Return what follows the beginning of one of the page's commands."""
    every = [command.words for command in commands(beginning[0]) if command.page == PAGE and command.whole]
    (found,) = [words for words in every if words[: len(beginning)] == beginning]
    return list(found[len(beginning) :])


def run(text: str, folder: Path) -> None:
    """Run a recipe as a script in this process."""
    (folder / "recipe.py").write_text(text)
    runpy.run_path(str(folder / "recipe.py"), run_name="__main__")


@pytest.fixture
def board(network: Network, tmp_path: Path) -> Iterator[list[str]]:
    """The machine `orin`, where nothing but an SSH server listens. Yields the command that connects to it."""
    if SSHD is None or shutil.which("ssh-keygen") is None:
        pytest.skip("an SSH server is needed (openssh-server)")
    Path("/run/sshd").mkdir(exist_ok=True)  # sshd(8) wants it to exist, and to be empty
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    settings = {
        "HostKey": tmp_path / "host",
        "AuthorizedKeysFile": tmp_path / "user.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
    }
    (tmp_path / "sshd_config").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    log = tmp_path / "sshd_log"
    server = subprocess.Popen(
        [*network.on("orin"), SSHD, "-D", "-f", tmp_path / "sshd_config", "-p", str(SSH_PORT), "-E", log]
    )
    wait_until(lambda: log.exists() and "Server listening" in log.read_text())
    yield [
        "ssh", "-F", "none", "-i", str(tmp_path / "user"), "-p", str(SSH_PORT), "-o", "StrictHostKeyChecking=no",
        "-o", f"UserKnownHostsFile={tmp_path / 'known'}", "-l", "root",
    ]  # fmt: skip
    server.terminate()
    server.wait(timeout=60)


def test_a_board_that_only_ssh_reaches(board: list[str], network: Network, tmp_path: Path, authority: Path) -> None:
    cluster = Cluster(tmp_path, network, options_for(authority))
    port = cluster.address.rpartition(":")[2]
    *options, name = words("ssh", "-N")
    options = [option.replace("8786:localhost:8786", f"{port}:{network.address(HEAD)}:{port}") for option in options]
    assert name == "board"
    device = [word.replace("8786", port) for word in words("pytest-ngraph", "device", "start")]
    device = [word for word in device if not word.startswith(("--tls", "~"))]
    tunnel = subprocess.Popen([*network.on(HEAD), *board, "-N", *options, network.address("orin")])
    try:
        cluster.start_scheduler()
        wait_until(lambda: tunnel.poll() is not None or reaches(network, int(port)))
        cluster.start_other("orin", *COMMAND, "device", "start", *device, *options_for(authority, "measure"))
        project = RemoteProject(tmp_path, cluster, ["board"])
        status, printed = project.run()
        assert status == 0, printed
        project.assert_whole()
        assert "tls://127.0.0.1:9001" in cluster.run("device", "list").stdout
    finally:
        tunnel.terminate()
        tunnel.wait(timeout=60)
        cluster.close()


def reaches(network: Network, port: int) -> bool:
    """Return whether something listens on this port of the board itself."""
    knock = f"import socket; socket.create_connection(('127.0.0.1', {port}), 1)"
    return not subprocess.run([*network.on("orin"), sys.executable, "-c", knock], capture_output=True).returncode


def test_a_job_of_a_batch_system_is_a_device(loopback: Cluster, tmp_path: Path) -> None:
    """With jobs on this machine, which dask-jobqueue splits into words without a shell and believes by their log."""
    pytest.importorskip("dask_jobqueue")
    text = recipe("# devices.py").replace("dask_jobqueue.slurm import SLURMJob", "dask_jobqueue.local import LocalJob")
    text = text.replace("exec {START}", "{START}")
    start, certificates = text.index('    "pytest-ngraph device start'), text.index("\n)\n\n\nclass")
    own = f"{' '.join(COMMAND)} device start --device xeon --insecure --verbose --scheduler {loopback.address}"
    text = f"{text[:start]}    {own!r}{text[certificates:]}\ninput()\n"  # a local job ends with its maker
    text = text.replace("        await job.start()\n", "        await job.start()\n        globals()[name] = job\n")
    script = tmp_path / "devices.py"
    script.write_text(text)
    environment = loopback.environment("node") | {"PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    command = [sys.executable, "-u", str(script), "node-1"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        assert maker.stdout.readline().startswith("node-1 is job ")
        assert "node-1 of xeon  free" in loopback.run("device", "list").stdout
        assert loopback.run("device", "stop", "xeon").returncode == 0
        wait_until(lambda: "node-1" not in loopback.run("device", "list").stdout)


def test_what_slurm_is_asked_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm = pytest.importorskip("dask_jobqueue.slurm")
    scripts = []

    async def submit(job: object, path: str) -> str:
        scripts.append(Path(path).read_text())
        return "Submitted batch job 17"

    monkeypatch.setattr(slurm.SLURMJob, "_submit_job", submit)
    monkeypatch.setattr(sys, "argv", ["devices.py", "node-1"])
    run(recipe("# devices.py"), tmp_path)
    assert capsys.readouterr().out == "node-1 is job 17\n"
    *header, last = scripts[0].strip().splitlines()
    assert {"#SBATCH --exclusive", "#SBATCH --signal=B:TERM@420", "#SBATCH -p benchmarks"} <= set(header)
    assert last.startswith("exec pytest-ngraph device start --device xeon --scheduler tls://head:8786 ")
    assert last.endswith(" --name node-1")


def test_what_kubernetes_is_asked_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("dask_kubernetes.operator")
    run(recipe("# ngraph_cluster.py"), tmp_path)
    cluster = json.loads(capsys.readouterr().out)
    assert cluster["kind"] == "DaskCluster"
    (head,) = cluster["spec"]["scheduler"]["spec"]["containers"]
    (device,) = cluster["spec"]["worker"]["spec"]["containers"]
    assert head["args"][:3] == ["pytest-ngraph", "cluster", "scheduler"]
    assert device["args"][:4] == ["pytest-ngraph", "device", "start", "--name=$(DASK_WORKER_NAME)"]
    assert "readinessProbe" not in head
    assert cluster["spec"]["worker"]["replicas"] == 2
