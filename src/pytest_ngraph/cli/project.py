"""Device profiles, store and modules of the project in which a subcommand runs: those that its tests have, too.

pytest reads `ngraph_devices`, `ngraph_store` and `pythonpath` from an ini file, which it looks for in the folder and
then in those above. The subcommands look in the same files, in the same order, for these three keys.
"""

from __future__ import annotations

import argparse
import configparser
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pytest_ngraph.cli.arguments import path
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.devices import Device, load_inventory
from pytest_ngraph.record import Record
from pytest_ngraph.session.options import DEFAULT_STORE
from pytest_ngraph.system.relocation import behind_standard_library
from pytest_ngraph.system.user_functions import is_import_string
from pytest_ngraph.wording import first_line, seen_from

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEVICES, STORE, MODULES = "ngraph_devices", "ngraph_store", "pythonpath"
OPTION_OF = {DEVICES: "--devices", STORE: "the store", MODULES: "PYTHONPATH"}
"""What a user gives to a subcommand in place of an ini key."""
Settings = Mapping[str, Any]


class IniFile(NamedTuple):
    """The file that pytest would read in a folder, and what it holds for pytest."""

    path: Path
    settings: Settings


def add_devices(parser: argparse.ArgumentParser) -> None:
    """Add `--devices=FILE`."""
    parser.add_argument(
        "--devices",
        type=path,
        metavar="FILE",
        help=f"file with device profiles of your own (TOML); default: that of the ini key {DEVICES}, as for pytest",
    )


def inventory(parsed: argparse.Namespace) -> dict[str, Device]:
    """Return the built-in devices and those of the file that `--devices` or else the project names."""
    return load_inventory(parsed.devices or devices_file(Path.cwd()))


def devices_file(folder: Path) -> Path | None:
    """Return the file of devices that pytest would read in this folder; None where no ini file names one.

    Raises `UsageError` for an ini file that cannot be read.
    """
    file = _ini_file(folder, DEVICES)
    return _named(file, DEVICES) if file else None


def store_folder(folder: Path) -> Path:
    """Return the store that pytest would write in this folder, relative to it where it lies below.

    That is the one that the ini file names, else `.ngraph` beside the ini file; without one, `.ngraph` in the folder.
    Raises `UsageError` for an ini file that cannot be read.
    """
    file = _ini_file(folder, STORE)
    found = (_named(file, STORE) or file.path.parent / DEFAULT_STORE) if file else folder / DEFAULT_STORE
    return Path(seen_from(folder, found))


def import_as_pytest(records: Sequence[Record] = ()) -> None:
    """Import, from now on, from where pytest does in the working folder. Workers do so, too.

    These are the folders of `pythonpath`, and the working folder, which shadows nothing of Python's. pytest also
    imports from beside the tests, which only their records know.

    Args:
        records: what was measured of modules that are needed again.
    """
    folder = Path.cwd()
    found = [place for record in records for place in _imported_from(record) if place != folder]
    with suppress(UsageError):  # an ini file that cannot be read: options stand for what it says of devices and store
        found += python_path(folder)
    if folder not in found:
        sys.path[:] = behind_standard_library(folder, sys.path)
    sys.path[:0] = dict.fromkeys(map(str, found))


def python_path(folder: Path) -> list[Path]:
    """Return the folders that pytest would import from in this one, by `pythonpath`.

    Raises `UsageError` for an ini file that cannot be read.
    """
    file = _ini_file(folder, MODULES)
    if file is None:
        return []
    named = file.settings.get(MODULES) or ()
    return [file.path.parent / name for name in (shlex.split(named) if isinstance(named, str) else named)]


def _imported_from(record: Record) -> Iterator[Path]:
    """Yield the folders from which the user's modules that a record names were imported."""
    case = record.case
    for given in (case.workload, case.compiler_name, case.scored_by):
        if not is_import_string(given):
            continue
        parts = tuple(given.partition(":")[0].split("."))
        for file in map(Path, record.follows_from.get("files", ())):
            names = file.parent.parts if file.name == "__init__.py" else file.with_suffix("").parts
            if file.suffix == ".py" and names[-len(parts) :] == parts:
                yield Path(*names[: -len(parts)])


def _ini_file(folder: Path, key: str) -> IniFile | None:
    """Return the file that pytest would read in this folder, for one key of it."""
    for place in (folder, *folder.parents):
        for name, settings_of in SETTINGS.items():
            file = place / name
            try:
                settings = settings_of(file.read_text(encoding="utf-8")) if file.is_file() else None
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, configparser.Error) as error:
                problem = f"cannot read {file}: {first_line(error)}"
                raise UsageError(f"{problem}. Mend it, or give {OPTION_OF[key]}.") from error
            if settings is not None:
                return IniFile(file, settings)
    return None


def _named(file: IniFile, key: str) -> Path | None:
    """Return the path that an ini file gives, relative to its folder; None for nothing."""
    text = str(file.settings.get(key) or "")
    try:
        return file.path.parent / Path(text).expanduser() if text else None
    except RuntimeError:
        raise UsageError(f"{key} = {text} in {file.path}: there is no such home folder. Give the whole path.") from None


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
