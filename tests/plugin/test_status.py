"""The live status, on a terminal that only remembers what was written."""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.plugin.status import RESTORE_AND_ERASE, SAVE, Status


class Terminal:
    """What `Status` asks of pytest: a reporter, a capture manager, a verbosity. `time` is moved by the test."""

    def __init__(self, *, isatty: bool = True, verbosity: int = 0, width: int = 80) -> None:
        self.written: list[str] = []
        self.time = 0.0
        file = SimpleNamespace(write=self.written.append, flush=lambda: None)
        writer = SimpleNamespace(fullwidth=width, width_of_current_line=10, _file=file)
        self.plugins: dict[str, Any] = {
            "terminalreporter": SimpleNamespace(isatty=isatty, _tw=writer),
            "capturemanager": SimpleNamespace(global_and_fixture_disabled=nullcontext),
        }
        config: Any = SimpleNamespace(
            pluginmanager=SimpleNamespace(get_plugin=self.plugins.get), get_verbosity=lambda: verbosity
        )
        self.status = Status(config, lambda: self.time)


@pytest.fixture
def case() -> Case:
    return Case(workload="resnet18", compiler="openvino", batch_size=8)


def test_a_phase_is_shown_behind_pytests_own_line(case: Case) -> None:
    terminal = Terminal()
    terminal.status.planned(case)
    terminal.status.phase(case, "compile")
    assert terminal.written == [f"{SAVE} [openvino resnet18-b8-cpu: compile; 1 of 1]"]


def test_the_next_status_replaces_the_last_and_a_result_erases_it(case: Case) -> None:
    terminal = Terminal()
    terminal.status.phase(case, "compile")
    terminal.status.phase(case, "verify")
    terminal.status.finished(case)
    assert terminal.written[1].startswith(RESTORE_AND_ERASE + " [openvino")
    assert terminal.written[2] == RESTORE_AND_ERASE


def test_pytest_may_run_without_capturing(case: Case) -> None:
    terminal = Terminal()
    terminal.plugins["capturemanager"] = None
    terminal.status.phase(case, "compile")
    assert len(terminal.written) == 1


def test_it_never_wraps(case: Case) -> None:
    terminal = Terminal(width=30)
    terminal.status.phase(case, "compile")
    assert len(terminal.written[0].removeprefix(SAVE)) == 30 - 10 - 1


def test_the_rest_is_estimated_from_what_is_done(case: Case) -> None:
    terminal = Terminal()
    for _ in range(4):
        terminal.status.planned(case)
    terminal.status.phase(case, "build")
    terminal.time = 20.0
    terminal.status.finished(case)
    terminal.time = 25.0
    terminal.status.phase(case, "build")
    assert terminal.written[-1].endswith("; 2 of 4, about 55 s left]")


def test_measuring_is_shown_a_few_times_a_second(case: Case) -> None:
    terminal = Terminal()
    for step in range(10):
        terminal.time = step * 0.05
        terminal.status.measuring(case, step / 10)
    assert len(terminal.written) == 3


@pytest.mark.parametrize(("verbosity", "lines"), [(-1, 0), (0, 0), (1, 1)])
def test_without_a_terminal_only_verbose_runs_tell_phases(case: Case, verbosity: int, lines: int) -> None:
    terminal = Terminal(isatty=False, verbosity=verbosity)
    terminal.status.phase(case, "compile")
    terminal.status.measuring(case, 0.5)
    assert len(terminal.written) == lines


def test_how_far_a_compiler_is_replaces_its_phase(case: Case) -> None:
    terminal = Terminal(width=100)
    terminal.status.phase(case, "compile")
    terminal.status.doing(case, "16 of 32 trials")
    assert terminal.written[1].startswith(f"{RESTORE_AND_ERASE} [openvino resnet18-b8-cpu: 16 of 32 trials;")


def test_devices_that_measure_at_a_time_are_shown_beside_each_other(case: Case) -> None:
    terminal = Terminal(width=200)
    other = dataclasses.replace(case, device="orin")
    terminal.status.phase(case, "compile")
    terminal.status.phase(other, "verify")
    assert "openvino resnet18-b8-cpu: compile | openvino resnet18-b8-orin: verify" in terminal.written[-1]
    terminal.status.finished(case)
    terminal.status.phase(other, "measure")
    assert "[openvino resnet18-b8-orin: measure;" in terminal.written[-1]


def test_without_a_terminal_a_line_comes_every_half_minute(case: Case) -> None:
    terminal = Terminal(isatty=False)
    for device in ("xeon", "orin"):
        terminal.status.planned(dataclasses.replace(case, device=device))
    terminal.status.phase(case, "compile")
    assert terminal.written == []
    for seconds in (10, 29, 31, 45, 60, 62):
        terminal.time = float(seconds)
        terminal.status.measuring(case, 0.5)
    assert terminal.written == [" [resnet18-b8-cpu: measure 50 %; 1 of 2]\n"] * 2


def test_a_run_that_waits_says_so_at_once_and_that_time_does_not_count(case: Case) -> None:
    terminal = Terminal(isatty=False)
    for device in ("xeon", "orin", "nano"):
        terminal.status.planned(dataclasses.replace(case, device=device))
    terminal.status.waiting("process 4711 is measuring on this machine")
    assert terminal.written == [" [waiting: process 4711 is measuring on this machine; 1 of 3]\n"]
    terminal.time = 300.0
    terminal.status.phase(case, "compile")
    terminal.time = 310.0
    terminal.status.finished(case)
    terminal.time = 340.0
    terminal.status.phase(case, "compile")
    assert terminal.written[-1] == " [openvino resnet18-b8-cpu: compile; 2 of 3]\n", (
        "the time that was expected is over"
    )


def test_quiet_runs_have_no_such_lines(case: Case) -> None:
    terminal = Terminal(isatty=False, verbosity=-1)
    terminal.status.phase(case, "compile")
    terminal.time = 31.0
    terminal.status.measuring(case, 0.5)
    assert terminal.written == []
