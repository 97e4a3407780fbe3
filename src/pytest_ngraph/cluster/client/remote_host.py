"""The machine of a device, known from what it reports and from questions to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from pytest_ngraph import compilers
from pytest_ngraph.cluster.presence import JoinedDevice
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine import compiler_code, source_files
from pytest_ngraph.machine.machine import CXX, Machine
from pytest_ngraph.store import conforms
from pytest_ngraph.system.installed import LIBRARIES, is_importable, variables

Answer = TypeVar("Answer")
Ask = Callable[..., Any]
"""Calls a function on the device, with the arguments that follow."""
SHOWN = 80
"""How much of an answer that cannot be read a message shows."""


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
        return self._brings(library) or self._once(bool, is_importable, library)

    def missing_library(self, compiler: str) -> str:
        known = self._present.compilers.get(compiler)
        missing = compilers.missing_library(compiler, self.is_importable) if known is None else known
        return f"on {self._present.name}: {missing}" if missing else ""

    def source_digest(self, compiler: str) -> str:
        """Return the digest of the compiler's code: the device's, or for a compiler of the project, the code here."""
        if compiler.partition(":")[0] in self._present.compilers:
            return self._once(str, compiler_code.source_digest, compiler)
        versions = self._once(list[str], compiler_code.versions, compiler_code.libraries(compiler))
        return compiler_code.combined(compiler_code.code(compiler), versions)

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the digests of files: of the project's as they are here, of others as they are on the device."""
        every = list(paths)
        ours = [path for path in every if Path(path).is_relative_to(self._project)]
        others = tuple(path for path in every if path not in ours)
        theirs = self._once(dict[str, str], source_files.digests, others) if others else {}
        return source_files.digests(ours) | theirs

    def _brings(self, library: str) -> bool:
        """Return whether a module is part of the project."""
        try:
            found = find_spec(library)
        except (ImportError, ValueError):
            return False
        places = [found.origin or "", *(found.submodule_search_locations or ())] if found else []
        return any(Path(place).is_relative_to(self._project) for place in places if place)

    def _once(self, kind: type[Answer], function: Ask, *arguments: Any) -> Answer:
        """Return what the device answers to a question. Raises `UsageError` if it is not of this kind."""
        key = (function, *arguments)
        if key not in self._answers:
            answer = self._ask(function, *arguments)
            if not conforms(answer, kind):
                raise UsageError(
                    f"the answer of device {self._present.name} cannot be read ({function.__name__}: "
                    f"{repr(answer)[:SHOWN]}). Install the same pytest-ngraph there, and start it again."
                )
            self._answers[key] = answer
        found: Answer = self._answers[key]
        return found
