"""The options of a run, as plain data. `plugin/options/` reads them once; they never change."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.settings import Settings

if TYPE_CHECKING:
    from pytest_ngraph.cluster.security import Endpoint
    from pytest_ngraph.gate import Threshold

Value = TypeVar("Value")
DEFAULT_STORE = ".ngraph"
"""The store without an option and ini key, beside the ini file. The command `pytest-ngraph` finds it by itself."""
NEWEST_UNFINISHED = "latest"
"""Stands for the newest run that was not finished."""


@dataclass(frozen=True, slots=True)
class Axis(Generic[Value]):
    """Values of one axis of the cases, from the command line and the ini file; None where these are silent."""

    command_line: tuple[Value, ...] | None
    ini: tuple[Value, ...] | None

    def values(self, mark: tuple[Value, ...] | None, default: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return the values to use.

        The mark decides what can run, and the command line narrows it. Where the mark is silent, the command line
        decides, then the ini file, then the default.
        """
        if mark is None:
            return self.command_line or self.ini or default
        if self.command_line is None:
            return mark
        return tuple(value for value in mark if value in self.command_line)


DEFAULT_DEVICES = ("cpu",)
"""Where neither a mark nor an option names devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions:
    """When a run ends, and how it is resumed.

    Attributes:
        run: the run to resume; empty for a new one.
        retries: how often a case is measured again that was running when its run died.
        retry_failed: whether cases are measured again that failed in a way that may have been chance.
        max_seconds: no group of cases begins after this time; None for no limit.
    """

    run: str = ""
    retries: int = 1
    retry_failed: bool = False
    max_seconds: float | None = None

    def is_over(self, elapsed_s: float) -> bool:
        """Return whether no further group may begin after this time."""
        return self.max_seconds is not None and elapsed_s >= self.max_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Which scheduler to reach, and with which credentials.

    Attributes:
        scheduler: its address; empty to measure on this machine.
        tls_ca: the authority's certificate, a PEM file.
        tls_cert: this user's certificate, a PEM file.
        tls_key: the key of that certificate, a PEM file.
        insecure: whether the connection to a scheduler on another machine may be unencrypted.
        wait_s: seconds to wait for absent devices.
        send: patterns of the project's files that are sent to devices; without any, all.
    """

    scheduler: str = ""
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    insecure: bool = False
    wait_s: float = 0.0
    send: tuple[str, ...] = ()

    @property
    def endpoint(self) -> Endpoint:
        """The scheduler. Raises `UsageError` where address and certificates do not fit."""
        from pytest_ngraph.cluster.certificate import expiry_warning
        from pytest_ngraph.cluster.security import CLIENT, endpoint, read_credentials

        credentials = read_credentials(self.tls_ca, self.tls_cert, self.tls_key, CLIENT)
        if credentials and (warning := expiry_warning(credentials.cert)):
            warnings.warn(warning, stacklevel=2)
        return endpoint(self.scheduler, credentials, insecure=self.insecure, spelling=CLIENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a run, checked.

    Attributes:
        inventory: device profiles by name.
        without_base: thresholds of the ini file that are left out: the run lacks the base that they compare with.
        sizes: axes of the user's own, by name; only those that the command line or the ini file names.
        report: the folder for the report; None for none.
        summary: the file for the Markdown that shows the run in a pull request; None for none.
        tails: whether single calls of every case are timed.
        serving: whether the costs of serving each case are measured; else only where a threshold needs them.
        precompile: how many processes compile ahead, before anything is measured; 0 to compile each group by itself.
        advise: whether the run ends with what to deploy.
        reads_figures: whether the figures of every case are written somewhere, so that also a case that equals its
            base's is measured.
        measures: False where nothing is timed: tests are only listed, models are called once, or pytest-xdist
            distributes the tests.
    """

    inventory: dict[str, Device]
    devices: Axis[str]
    compilers: Axis[str]
    batch_sizes: Axis[int]
    precisions: Axis[str]
    objectives: Axis[str]
    settings: Settings
    store: Path
    thresholds: tuple[Threshold, ...]
    without_base: tuple[Threshold, ...] = ()
    sizes: Mapping[str, Axis[int]] = field(default_factory=dict)
    gate: GateOptions = field(default_factory=GateOptions)
    resume: ResumeOptions = ResumeOptions()
    cluster: ClusterOptions = ClusterOptions()
    report: Path | None = None
    summary: Path | None = None
    tails: bool = False
    serving: bool = False
    precompile: int = 0
    advise: bool = False
    reads_figures: bool = False
    measures: bool = True
