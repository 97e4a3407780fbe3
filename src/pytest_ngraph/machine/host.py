"""The machine that measures, and what is installed there: this one, or a device of a cluster."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from typing import Protocol

from pytest_ngraph import compilers
from pytest_ngraph.machine import machine, source_files
from pytest_ngraph.machine.compiler_code import source_digest
from pytest_ngraph.machine.machine import Machine
from pytest_ngraph.system import installed


class Host(Protocol):
    """What a session needs to know about the machine that measures."""

    @property
    def place(self) -> str:
        """The machine as shown to users, such as `this machine`."""
        ...

    @property
    def machine(self) -> Machine:
        """What the machine is."""
        ...

    @property
    def environment(self) -> dict[str, str]:
        """The facts stored with the results, as `machine.environment` returns them."""
        ...

    @property
    def libraries(self) -> Mapping[str, str]:
        """Versions of the libraries that results depend on."""
        ...

    @property
    def variables(self) -> Mapping[str, str]:
        """Environment variables that configure compilers."""
        ...

    @property
    def cxx(self) -> str:
        """The C++ compiler with its version; empty if there is none."""
        ...

    @property
    def python(self) -> str:
        """The interpreter's version."""
        ...

    def is_importable(self, library: str) -> bool:
        """Return whether the machine has a module of this name."""
        ...

    def missing_library(self, compiler: str) -> str:
        """Return why the compiler cannot be loaded there, and the command that fixes it; empty if it can."""
        ...

    def source_digest(self, compiler: str) -> str:
        """Return the hash of the compiler's own code and libraries, as `compiler_code.source_digest` does."""
        ...

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the digests of these files, as `source_files.digests` does."""
        ...


class ThisMachine:
    """The machine that this process runs on."""

    place = "this machine"
    python = platform.python_version()

    @property
    def machine(self) -> Machine:
        return machine.this_machine()

    @property
    def environment(self) -> dict[str, str]:
        return machine.environment()

    @property
    def libraries(self) -> Mapping[str, str]:
        return installed.library_versions()

    @property
    def variables(self) -> Mapping[str, str]:
        return installed.variables()

    @property
    def cxx(self) -> str:
        return installed.cxx_version()

    def is_importable(self, library: str) -> bool:
        return installed.is_importable(library)

    def missing_library(self, compiler: str) -> str:
        return compilers.missing_library(compiler)

    def source_digest(self, compiler: str) -> str:
        return source_digest(compiler)

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        return source_files.digests(paths)


THIS_MACHINE: Host = ThisMachine()
