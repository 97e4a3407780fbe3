"""An environment in between: a copy of the good one, in which some packages are those of the bad one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from pytest_ngraph.bisect.interpreter import Interpreter
from pytest_ngraph.bisect.libraries import Change
from pytest_ngraph.errors import NgraphError, UsageError

TIMEOUT_S = 3600.0


class CannotInstall(NgraphError):
    """The packages cannot be installed together; the text says why."""


def build(folder: Path, good: Interpreter, made: Iterable[Change], find_links: Sequence[str]) -> str:
    """Build the environment with these changes, and return its interpreter.

    The files of the good environment are linked, not copied, where both lie on one file system: installers replace
    files and do not write into them. So a change costs only what it installs.

    Raises:
        CannotInstall: a package cannot be had, or not be installed.
        UsageError: there is no installer.
    """
    system = ["--system-site-packages"] if good.sees_system else []
    _run([good.python, "-m", "venv", "--without-pip", *system, str(folder)])
    python = str(folder / "bin" / "python")
    target = _run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()
    for packages in good.folders:
        shutil.copytree(packages, target, symlinks=True, dirs_exist_ok=True, copy_function=_link)
    names = [name for change in made for name in change.names]
    bad = {name: package for change in made for name, package in change.bad.items() if name in change.names}
    if gone := [name for name in names if name not in bad]:
        _run([*_installer(python, "uninstall"), *gone])
    if wanted := [bad[name].requirement for name in names if name in bad]:
        sources = [word for place in find_links for word in ("--find-links", place)]
        _run([*_installer(python, "install"), *(["--no-index", *sources] if sources else []), *wanted])
    return python


def _installer(python: str, what: str) -> list[str]:
    """Return the command that installs into another environment: uv's where it is on PATH, else pip's."""
    if uv := shutil.which("uv"):
        options = ["--no-deps", "--reinstall"] if what == "install" else []
        return [uv, "pip", what, "--python", python, *options]
    if find_spec("pip") is None:
        raise UsageError("there is neither uv nor pip to build environments with. Install one: python -m ensurepip")
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "--no-input", what]
    return [*pip, *(["--no-deps", "--force-reinstall"] if what == "install" else ["--yes"])]


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        return
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _run(command: Sequence[str]) -> str:
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(f"{Path(command[0]).name} {command[1]} failed: {error}") from None
    if ended.returncode:
        raise CannotInstall(reason(ended.stderr))
    return ended.stdout


def reason(text: str) -> str:
    """Return why an installer failed: its last error, for uv with the cause on the line below."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [place for place, line in enumerate(lines) if line.lower().startswith("error")]
    if not errors:
        return lines[-1] if lines else "no reason given"
    error, *below = lines[errors[-1] :]
    causes = [line.removeprefix("cause: ") for line in below if line.startswith("cause: ")]
    return ": ".join([error, *causes])
