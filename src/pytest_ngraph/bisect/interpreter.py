"""Another Python interpreter: which packages it has, and where they lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ngraph.bisect.libraries import Package
from pytest_ngraph.system.child import WITHOUT_FOLDER
from pytest_ngraph.system.interpreter import ask, no_interpreter

QUERY = f"""
{WITHOUT_FOLDER}
import hashlib, json, pathlib, platform, re, sysconfig
from importlib.metadata import distributions
def name_of(distribution):
    try:
        return distribution.metadata["Name"]
    except Exception:
        return None
packages = []
for each in distributions():
    name = name_of(each)
    if not name:
        continue
    record = sorted(line.rpartition(",")[0] for line in (each.read_text("RECORD") or "").splitlines()
        if "__pycache__" not in line and ".dist-info/" not in line and not line.startswith(".."))
    packages.append({{
        "name": re.sub(r"[-_.]+", "-", name).lower(), "version": each.version, "requires": each.requires or [],
        "origin": json.loads(each.read_text("direct_url.json") or "{{}}"),
        "files": hashlib.sha256("\\n".join(record).encode()).hexdigest()}})
version = ".".join(platform.python_version_tuple()[:2])
config = pathlib.Path(sys.prefix, "pyvenv.cfg")
settings = [line.partition("=") for line in (config.read_text() if config.exists() else "").splitlines()]
print(json.dumps({{"version": platform.python_implementation() + " " + version, "packages": packages,
    "patch": platform.python_version(), "folders": [sysconfig.get_path(name) for name in ("purelib", "platlib")],
    "sees_system": any(name.strip() == "include-system-site-packages" and value.strip().lower() == "true"
        for name, _, value in settings)}}))
"""
"""What has no name is no package: an upgrade that was interrupted leaves a folder without metadata behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """An interpreter and its packages.

    Attributes:
        version: `CPython 3.11`.
        patch: `3.11.7`.
        folders: where it has its packages.
        sees_system: whether it is an environment that has the packages of the interpreter that it was made from, too.
    """

    python: str
    version: str
    packages: dict[str, Package]
    folders: tuple[str, ...]
    patch: str = ""
    sees_system: bool = False


def described(python: str, option: str) -> Interpreter:
    """Ask an interpreter for its packages.

    Args:
        option: the option that names it.

    Raises:
        UsageError: it cannot be run, or is no interpreter.
    """
    found, said = ask(python, QUERY, option)
    if not isinstance(found, dict):
        raise no_interpreter(option, python, said)
    packages: dict[str, Package] = {}
    for each in found["packages"]:
        origin = each.pop("origin")
        where = {"url": _address(origin), "fixed": "dir_info" in origin}
        packages.setdefault(each["name"], Package(**each | where | {"requires": tuple(each["requires"])}))
    return Interpreter(
        python=python,
        version=found["version"],
        packages=packages,
        folders=tuple(dict.fromkeys(found["folders"])),
        patch=found["patch"],
        sees_system=found["sees_system"],
    )


def _address(origin: Mapping[str, Any]) -> str:
    """Return what an installer is given to install from the same place, given `direct_url.json`; empty for a folder.

    Extras are not in it, and are not needed: what they ask for is installed by itself.
    """
    if not origin or "dir_info" in origin:
        return ""
    url = str(origin["url"])
    if vcs := origin.get("vcs_info"):
        place = url.replace("file:///", "file://localhost/", 1)  # earlier versions of pip want a host in it
        url = f"{vcs['vcs']}+{place}@{vcs['commit_id']}"
    return f"{url}#subdirectory={origin['subdirectory']}" if origin.get("subdirectory") else url
