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
    """What has to be known of a machine before and after it measures."""

    @property
    def place(self) -> str:
        """As people read it: `this machine`."""
        ...

    @property
    def machine(self) -> Machine: ...

    @property
    def environment(self) -> dict[str, str]:
        """What is kept beside the results, as `machine.environment` gives it."""
        ...

    @property
    def libraries(self) -> Mapping[str, str]:
        """Versions of the libraries that results depend on."""
        ...

    @property
    def variables(self) -> Mapping[str, str]:
        """Variables of the environment by which compilers are set."""
        ...

    @property
    def python(self) -> str:
        """The interpreter's version."""
        ...

    def is_importable(self, library: str) -> bool:
        """Whether there is a module of this name."""
        ...

    def missing_library(self, compiler: str) -> str:
        """Why the compiler cannot be loaded there, with the command that mends it; empty when it can."""
        ...

    def source_digest(self, compiler: str) -> str:
        """Hash of the compiler's own code."""
        ...

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        """Digests of the user's files, as `sources.digests` gives them."""
        ...


class ThisMachine:
    """Asks the libraries and the system themselves."""

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

    def is_importable(self, library: str) -> bool:
        return installed.is_importable(library)

    def missing_library(self, compiler: str) -> str:
        return compilers.missing_library(compiler)

    def source_digest(self, compiler: str) -> str:
        return source_digest(compiler)

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        return source_files.digests(paths)


THIS_MACHINE: Host = ThisMachine()
