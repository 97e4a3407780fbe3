"""The machine of a device, known from what it reports and from questions to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_ngraph import compilers
from pytest_ngraph.cluster.presence import JoinedDevice
from pytest_ngraph.machine import compiler_code, source_files
from pytest_ngraph.machine.machine import CXX, Machine
from pytest_ngraph.system.installed import LIBRARIES, is_importable, variables

Ask = Callable[..., Any]
"""Calls a function on the device, with the arguments that follow."""


class RemoteHost:
    """One machine of a device; if there are several, all are equal. Each question is asked once.

    Args:
        present: what the device has reported.
        ask: calls a function on the device.
        project: top folder of the project on this machine; a device gets a copy.
    """

    def __init__(self, present: JoinedDevice, ask: Ask, project: Path) -> None:
        self.place = f"the machine of {present.name}"
        self.machine = Machine.from_dict(present.machine)
        self.environment = dict(present.environment)
        self._present = present
        self._ask = ask
        self._project = project
        self._answers: dict[tuple[Any, ...], Any] = {}

    @property
    def libraries(self) -> Mapping[str, str]:
        return {name: self.environment[name] for name in LIBRARIES if name in self.environment}

    @property
    def variables(self) -> Mapping[str, str]:
        return variables(self.environment)

    @property
    def cxx(self) -> str:
        return self.environment.get(CXX, "")

    @property
    def python(self) -> str:
        return self.environment.get("python", "")

    def is_importable(self, library: str) -> bool:
        """Return whether the device has a module of this name, or gets it with the project."""
        return self._brings(library) or bool(self._once(is_importable, library))

    def missing_library(self, compiler: str) -> str:
        known = self._present.compilers.get(compiler)
        missing = compilers.missing_library(compiler, self.is_importable) if known is None else known
        return f"on {self._present.name}: {missing}" if missing else ""

    def source_digest(self, compiler: str) -> str:
        """Return the digest of the compiler's code: the device's, or for a compiler of the project, the code here."""
        if compiler.partition(":")[0] in self._present.compilers:
            return str(self._once(compiler_code.source_digest, compiler))
        return compiler_code.combined(
            compiler_code.code(compiler), self._once(compiler_code.versions, compiler_code.libraries(compiler))
        )

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the digests of files: of the project's as they are here, of others as they are on the device."""
        every = list(paths)
        ours = [path for path in every if Path(path).is_relative_to(self._project)]
        others = tuple(path for path in every if path not in ours)
        return source_files.digests(ours) | (self._once(source_files.digests, others) if others else {})

    def _brings(self, library: str) -> bool:
        """Return whether a module is part of the project."""
        try:
            found = find_spec(library)
        except (ImportError, ValueError):
            return False
        places = [found.origin or "", *(found.submodule_search_locations or ())] if found else []
        return any(Path(place).is_relative_to(self._project) for place in places if place)

    def _once(self, function: Ask, *arguments: Any) -> Any:
        key = (function, *arguments)
        if key not in self._answers:
            self._answers[key] = self._ask(function, *arguments)
        return self._answers[key]
