"""Environments for tools that cannot be installed beside ours: made once, in the user's cache folder."""

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
    """The tool to compare with is not available here. The message is the reason."""


def python_with(*requirements: str, folder: Path = FOLDER) -> Path:
    """Return the interpreter of an environment with these requirements and all packages of this process's environment.

    Libraries on which results depend keep the versions that they have here. The environment's name is a digest of its
    contents.

    Raises:
        Unavailable: it cannot be made, for example without a network.
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
    # `--system-site-packages` would add the packages of the base interpreter, not those of this environment.
    # They are added as site folders, not as plain paths, so that packages in editable mode are found too.
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
