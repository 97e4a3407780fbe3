"""Another Python interpreter: which packages it has, and where they lie."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass

from pytest_ngraph.bisect.libraries import Package
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.child import WITHOUT_FOLDER

TIMEOUT_S = 120.0
QUERY = f"""
{WITHOUT_FOLDER}
import hashlib, json, platform, re, sysconfig
from importlib.metadata import distributions
packages = []
for each in distributions():
    origin = json.loads(each.read_text("direct_url.json") or "{{}}")
    record = sorted(line.rpartition(",")[0] for line in (each.read_text("RECORD") or "").splitlines()
        if "__pycache__" not in line and ".dist-info/" not in line and not line.startswith(".."))
    packages.append({{
        "name": re.sub(r"[-_.]+", "-", each.metadata["Name"]).lower(), "version": each.version,
        "requires": each.requires or [], "url": "" if "dir_info" in origin else origin.get("url", ""),
        "files": hashlib.sha256("\\n".join(record).encode()).hexdigest(), "fixed": "dir_info" in origin}})
version = ".".join(platform.python_version_tuple()[:2])
print(json.dumps({{"version": platform.python_implementation() + " " + version, "packages": packages,
    "folders": [sysconfig.get_path(name) for name in ("purelib", "platlib")]}}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """An interpreter and its packages.

    Attributes:
        version: `CPython 3.11`.
        folders: where it has its packages.
    """

    python: str
    version: str
    packages: dict[str, Package]
    folders: tuple[str, ...]


def described(python: str, option: str) -> Interpreter:
    """Ask an interpreter for its packages.

    Args:
        option: the option that names it.

    Raises:
        UsageError: it cannot be run.
    """
    step = "Give the path of a Python interpreter, such as environment/bin/python."
    try:
        ended = subprocess.run([python, "-c", QUERY], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{option}={python} cannot be run ({error}). {step}") from None
    try:
        found = json.loads(ended.stdout.splitlines()[-1])  # the environment may print lines of its own before
    except (IndexError, ValueError):
        said = (ended.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UsageError(f"{option}={python} does not answer like a Python interpreter ({said}). {step}") from None
    packages: dict[str, Package] = {}
    for each in found["packages"]:
        packages.setdefault(each["name"], Package(**each | {"requires": tuple(each["requires"])}))
    return Interpreter(
        python=python,
        version=found["version"],
        packages=packages,
        folders=tuple(dict.fromkeys(found["folders"])),
    )
