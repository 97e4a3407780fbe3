"""Environments and programs of the comparison. They are real; the networks that they measure are tiny."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import timer
from comparing import arms, environments, parity
from comparing.child import Child, Failed
from comparing.environments import Unavailable
from comparing.trials import Measure, cases


def test_an_environment_has_what_this_one_has_and_is_made_once(tmp_path: Path) -> None:
    python = environments.python_with(folder=tmp_path)
    code = "import sys, numpy, pytest_ngraph; print(sys.prefix)"
    assert Path(subprocess.check_output([python, "-c", code], text=True).strip()).parent == tmp_path
    (mark,) = tmp_path.glob("*/whole")
    made_at = mark.stat().st_mtime_ns
    assert environments.python_with(folder=tmp_path) == python
    assert mark.stat().st_mtime_ns == made_at


def test_a_failed_install_is_unavailable_and_leaves_nothing(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing-1-py3-none-any.whl")
    with pytest.raises(Unavailable, match="cannot be installed"):
        environments.python_with(missing, folder=tmp_path / "peers")
    assert not list((tmp_path / "peers").iterdir())


def test_a_program_that_ends_has_failed_with_its_last_word(network: str) -> None:
    with pytest.raises(Failed, match="unexpected keyword argument 'nonsense'"):
        Child("bare_session", model=network, nonsense=1)


@pytest.mark.parametrize(
    "measure",
    [
        pytest.param(arms.loop({}, iterations=5), id="loop"),
        pytest.param(arms.timer("blocked_autorange", arms.bound(), min_run_time=0.01), id="timer"),
        pytest.param(arms.benchmark("--benchmark-max-time=0.01", environment={}), id="benchmark"),
        pytest.param(arms.ngraph("--ngraph-budget=0.05", "--ngraph-precision-target=50%"), id="ngraph"),
    ],
)
def test_a_session_of_each_tool_reports_its_median(measure: Measure, network: str) -> None:
    (case,) = cases([network], 1)
    reading = measure(case)
    assert 0 < reading.seconds < reading.measured_s < reading.wall_s


@pytest.mark.parametrize(
    "measure", [pytest.param(arms.loop({}), id="program"), pytest.param(arms.benchmark(environment={}), id="session")]
)
def test_a_network_that_is_not_there_fails_its_session_by_name(
    forked_programs: None, measure: Measure, network: str
) -> None:
    (case,) = cases([f"{network}s"], 1)
    with pytest.raises(Failed, match="networks"):
        measure(case)


@pytest.mark.slow
def test_inductors_peer_has_its_weights_frozen(network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config, freezing

    kept: list[list[int]] = []

    def freeze(*given: Any) -> Any:
        frozen = freezing_itself(*given)
        kept.append(frozen[1])
        return frozen

    freezing_itself = freezing.freeze
    monkeypatch.setattr(freezing, "freeze", freeze)
    monkeypatch.setattr(config, "freezing", False)  # as in a fresh process, and restored after this test
    (case,) = cases([network], 1)
    _, inputs = timer.compiled("inductor", parity.export(case, tmp_path))
    assert [len(arguments) for arguments in kept] == [len(inputs)]  # no weight is given at a call
