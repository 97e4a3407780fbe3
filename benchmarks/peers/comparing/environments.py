"""Environments for tools that are not to be installed beside ours: made once, in the user's cache folder."""

from __future__ import annotations

import hashlib
import shutil
import site
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from pytest_ngraph.system.files import user_folder
from pytest_ngraph.system.installed import library_versions

FOLDER = user_folder() / "peers"
OURS = "pytest-ngraph"


class Unavailable(Exception):
    """What was to be compared with cannot be had here; the reason, for people."""


def python_with(*requirements: str, folder: Path = FOLDER) -> Path:
    """The interpreter of an environment that has these requirements, and all that this process's has.

    Libraries that results depend on keep the versions that they have here. The environment is named after what is in
    it. Raises `Unavailable` when it cannot be made, because there is no network, say.
    """
    constraints = [f"{name}=={version}" for name, version in sorted(library_versions().items()) if name != OURS]
    contents = "\n".join([sys.version, sys.prefix, *requirements, *constraints])
    home = folder / hashlib.sha256(contents.encode()).hexdigest()[:12]
    if not (home / "whole").exists():
        shutil.rmtree(home, ignore_errors=True)
        _make(home, requirements, constraints)
        (home / "whole").write_text(contents)
    return home / "bin" / "python"


def _make(home: Path, requirements: tuple[str, ...], constraints: list[str]) -> None:
    venv.create(home, with_pip=True)
    own = Path(sysconfig.get_path("purelib", "posix_prefix", {"base": str(home), "platbase": str(home)}))
    # `--system-site-packages` would give those of the interpreter that this environment was made with, not this one's.
    # As site folders, not as plain paths: what is installed there in editable mode is found as well.
    parents = [f"site.addsitedir({folder!r})" for folder in site.getsitepackages()]
    (own / "parent.pth").write_text(f"import site; {'; '.join(parents)}\n")
    (home / "constraints.txt").write_text("\n".join(constraints) + "\n")
    if not requirements:
        return
    python, pinned = str(home / "bin" / "python"), str(home / "constraints.txt")
    command = [python, "-m", "pip", "install", "--quiet", "--constraint", pinned]
    done = subprocess.run([*command, *requirements], capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(home)
        reason = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("ERROR")), "pip failed")
        raise Unavailable(f"{', '.join(requirements)} cannot be installed: {reason.removeprefix('ERROR: ')}")
