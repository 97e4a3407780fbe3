"""Device profiles of the project in which a subcommand runs: those that its tests have, too.

pytest reads `ngraph_devices` from a configuration file, which it looks for in the folder and then in those above. The
subcommands look in the same files, in the same order, for that one key.
"""

from __future__ import annotations

import argparse
import configparser
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_ngraph.cli.arguments import path
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.devices import Device, load_inventory
from pytest_ngraph.wording import first_line

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KEY = "ngraph_devices"
Settings = Mapping[str, Any]


def add_devices(parser: argparse.ArgumentParser) -> None:
    """Add `--devices=FILE`."""
    parser.add_argument(
        "--devices",
        type=path,
        metavar="FILE",
        help=f"file with device profiles of your own (TOML); default: that of the ini key {KEY}, as for pytest",
    )


def inventory(parsed: argparse.Namespace) -> dict[str, Device]:
    """Return the built-in devices and those of the file that `--devices` or else the project names."""
    return load_inventory(parsed.devices or devices_file(Path.cwd()))


def devices_file(folder: Path) -> Path | None:
    """Return the file of devices that pytest would read in this folder; None where no ini file names one.

    Raises `UsageError` for an ini file that cannot be read.
    """
    for place in (folder, *folder.parents):
        for name, settings_of in SETTINGS.items():
            file = place / name
            try:
                settings = settings_of(file.read_text(encoding="utf-8")) if file.is_file() else None
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, configparser.Error) as error:
                raise UsageError(f"cannot read {file}: {first_line(error)}. Mend it, or give --devices.") from error
            if settings is not None:
                return _resolved(str(settings.get(KEY) or ""), file)
    return None


def _resolved(named: str, file: Path) -> Path | None:
    """Return what an ini file names, relative to its folder; None for nothing."""
    try:
        return file.parent / Path(named).expanduser() if named else None
    except RuntimeError:
        raise UsageError(f"{KEY} = {named} in {file}: there is no such home folder. Give the whole path.") from None


def _of_pytest_toml(text: str) -> Settings:
    settings: Settings = tomllib.loads(text).get("pytest", {})
    return settings


def _of_pyproject(text: str) -> Settings | None:
    tool: Mapping[str, Any] = tomllib.loads(text).get("tool", {}).get("pytest", {})
    return tool.get("ini_options") or tool or None


def _of_section(name: str, *, always: bool = False) -> Callable[[str], Settings | None]:
    """Return a function that reads a section of an ini file; without it, the file counts only with `always`."""

    def settings_of(text: str) -> Settings | None:
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
        parser.read_string(text)
        if parser.has_section(name):
            return dict(parser.items(name))
        return {} if always else None

    return settings_of


SETTINGS: Mapping[str, Callable[[str], Settings | None]] = {
    "pytest.toml": _of_pytest_toml,
    ".pytest.toml": _of_pytest_toml,
    "pytest.ini": _of_section("pytest", always=True),
    ".pytest.ini": _of_section("pytest", always=True),
    "pyproject.toml": _of_pyproject,
    "tox.ini": _of_section("pytest"),
    "setup.cfg": _of_section("tool:pytest"),
}
"""What pytest reads of each file, in pytest's order; None for a file that is not its own."""
