"""Devices: named profiles of machines, built in or from `devices.toml`."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ngraph.artifact import Kind, Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import kinds
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.cores import in_words
from pytest_ngraph.machine.machine import Machine, this_machine
from pytest_ngraph.machine.requirement import Requirement
from pytest_ngraph.system.installed import is_importable

KINDS: tuple[Kind, ...] = kinds.names()


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A profile: what kind of machine this device is, and how it is used.

    Attributes:
        name: its name.
        kind: what it computes on: the CPU, or an accelerator of this kind.
        index: which accelerator of that kind, from 0.
        architecture: what `platform.machine()` must return; None for any.
        threads: computing threads; None for one per physical core.
        cores: the logical CPUs to bind them to; None for the first `threads` usable ones.
        compilers: those to run if neither mark nor command line names any; empty for every installed one.
        pool: names of the machines of a cluster that are this device, all alike; empty for one machine of this name.
        requires: what else the machine must have; None for nothing.
    """

    name: str
    kind: Kind = "cpu"
    index: int = 0
    architecture: str | None = None
    threads: int | None = None
    cores: tuple[int, ...] | None = None
    compilers: tuple[str, ...] = ()
    pool: tuple[str, ...] = ()
    requires: Requirement | None = None

    @property
    def machines(self) -> tuple[str, ...]:
        """The names under which a cluster may have it."""
        return (*self.pool, self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as JSON-ready data."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Device:
        """Return the profile that `to_dict` made this data of."""
        cores = tuple(data["cores"]) if data["cores"] else None
        requires = Requirement.from_dict(data["requires"]) if data["requires"] else None
        lists = {"cores": cores, "compilers": tuple(data["compilers"]), "pool": tuple(data["pool"])}
        return cls(**data | lists | {"requires": requires})

    def target(self, case: Case, machine: Machine | None = None, most_threads: int | None = None) -> Target:
        """Return what to compile the case for, with at most `most_threads` of the device's threads (None: all)."""
        cores = (self.cores or (machine or this_machine()).cores[: self.threads])[:most_threads]
        return Target(
            kind=self.kind, index=self.index, cores=cores, precision=case.precision, objective=case.compiled_for
        )

    def absent(
        self,
        machine: Machine | None = None,
        place: str = "this machine",
        has_library: Callable[[str], bool] = is_importable,
    ) -> str:
        """Return why the machine is not such a device; empty if it is.

        Args:
            machine: the machine; None for this one.
            place: the machine, as shown to users.
            has_library: whether the machine has a module.
        """
        machine = machine or this_machine()
        if self.architecture not in (None, machine.architecture):
            return f"device {self.name} is {self.architecture}, but {place} is {machine.architecture}"
        if self.kind != "cpu" and (problem := self._lacks_accelerator(machine.accelerators_of(self.kind), place)):
            return problem
        if machine.usable and (lacking := sorted({*(self.cores or ())} - {*machine.usable})):
            cores = f"{'cores' if len(lacking) > 1 else 'core'} {in_words(lacking)}"
            return f"device {self.name} needs {cores}, but of {place} only {in_words(machine.usable)} may be used"
        wanted = max(self.threads or 1, len(self.cores or ()))
        if wanted > len(machine.cores):
            return f"device {self.name} needs {wanted} cores, but {place} offers {len(machine.cores)}"
        return self.requires.unmet(self, machine, has_library) if self.requires else ""

    def _lacks_accelerator(self, found: Sequence[str], place: str) -> str:
        """Return that the machine does not have the accelerator; empty if it does."""
        if not found and self.kind == "cuda":
            return f"device {self.name} needs a CUDA GPU, but the driver of {place} reports none"
        if not found:
            return f"device {self.name} needs a device of kind {self.kind}, but the system of {place} lists none"
        if self.index >= len(found):
            named = ", ".join(f"{number}: {each}" for number, each in enumerate(found))
            return f"device {self.name} is {self.kind} {self.index}, but {place} has {named}"
        return ""

    def with_threads(self, threads: int) -> Device:
        """Return this device, `NAME@N`, with only its first N threads.

        Raises:
            UsageError: it has fewer cores.
        """
        if self.cores and threads > len(self.cores):
            raise UsageError(
                f"{threads} threads: device {self.name} has {len(self.cores)} cores. Give up to that many."
            )
        cores = self.cores[:threads] if self.cores else None
        return dataclasses.replace(self, name=f"{self.name}{FEWER}{threads}", threads=threads, cores=cores)


FEWER = "@"
"""Between a device and a number of its threads."""
BUILT_IN = {
    device.name: device
    for device in (
        Device(name="cpu"),
        Device(name="xeon", architecture="x86_64"),
        Device(name="gpu", kind="cuda"),
        Device(name="orin", kind="cuda", architecture="aarch64"),
    )
}


def named(inventory: Mapping[str, Device], name: str) -> Device:
    """Return the device of this name, or with `NAME@N` that device with N threads. Raises `UsageError` for another."""
    base, at, threads = name.rpartition(FEWER)
    if name not in inventory and at and base in inventory and threads.isdecimal() and int(threads):
        return inventory[base].with_threads(int(threads))
    return known(inventory, name)


def known(inventory: Mapping[str, Device], name: str) -> Device:
    """Return the device of this name. Raises `UsageError` for another."""
    if name not in inventory:
        raise UsageError.unknown("device", name, inventory, "--devices=FILE adds your own.")
    return inventory[name]


def load_inventory(path: Path | None) -> dict[str, Device]:
    """Return the built-in devices and those of a `devices.toml`, which replace built-in ones of the same name."""
    if path is None:
        return dict(BUILT_IN)
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        tables = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}. It must be TOML with one table per device.") from error
    return BUILT_IN | {name: _device(path, name, table) for name, table in tables.items()}


def _device(path: Path, name: str, table: Any) -> Device:
    if not isinstance(table, dict):
        raise UsageError(f"{path}: {name!r} is not a table. Write [{name}] and its settings below.")
    fields = {field.name: field for field in dataclasses.fields(Device) if field.name != "name"}
    for key in table:
        if key not in fields:
            raise UsageError.unknown(f"setting of device {name} in {path}", key, fields)
    kind = table.get("kind", "cpu")
    if kind not in KINDS:
        raise UsageError.unknown(f"kind of device {name} in {path}", kind, KINDS)
    checks = {
        "architecture": _is_text,
        "index": _is_index,
        "threads": _is_count,
        "cores": _is_cores,
        "compilers": _is_texts,
        "pool": _is_texts,
        "requires": _is_table,
    }
    for key, check in checks.items():
        if key in table and not check(table[key]):
            raise UsageError(f"{path}: {key} = {table[key]!r} of device {name} is not {check.__doc__}.")
    lists = {key: tuple(table[key]) for key in ("cores", "compilers", "pool") if key in table}
    if {"threads", "cores"} <= table.keys() and len(table["cores"]) != table["threads"]:
        raise UsageError(
            f"{path}: threads = {table['threads']} and cores = {table['cores']!r} of device {name} contradict each "
            "other. Leave threads out: each core runs one."
        )
    requires = _requirement(path, name, table["requires"]) if "requires" in table else None
    return Device(**table | lists | {"name": name, "requires": requires})


def _requirement(path: Path, name: str, table: dict[str, Any]) -> Requirement:
    lists = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
    try:
        return Requirement.parse(table | lists)
    except UsageError as error:
        raise UsageError(f"{path}: [{name}.requires] takes what the mark requires_device takes: {error}") from None


def _is_text(value: object) -> bool:
    "a string"
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    "a whole number from 1 up"
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_index(value: object) -> bool:
    "a whole number from 0 up"
    return type(value) is int and value >= 0


def _is_cores(value: object) -> bool:
    "a list of logical CPU numbers, each once"
    if not isinstance(value, list) or not all(type(each) is int and each >= 0 for each in value):
        return False
    return 0 < len(value) == len(set(value))


def _is_texts(value: object) -> bool:
    "a list of strings"
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _is_table(value: object) -> bool:
    "a table"
    return isinstance(value, dict)
