"""Where trials are kept, and what remains after a search is killed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kernels
import pytest

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.tvm import cpu, database
from pytest_ngraph.compilers.tvm.kernels import Kernel


def artifact(batch_size: int = 1, digest: str = "0" * 64) -> Artifact:
    case = Case(workload="conv", compiler="tvm", batch_size=batch_size)
    return Artifact(folder=Path(), case=case, digest=digest)


def test_there_is_one_for_each_artifact_batch_size_target_and_version_of_tvm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tvm = pytest.importorskip("tvm")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folders = [
        database.folder(artifact(), "llvm -num-cores=2"),
        database.folder(artifact(), "llvm -num-cores=4"),
        database.folder(artifact(batch_size=8), "llvm -num-cores=2"),
        database.folder(artifact(digest="1" * 64), "llvm -num-cores=2"),
    ]
    assert len(set(folders)) == 4
    assert folders[0] == database.folder(artifact(), "llvm -num-cores=2")
    assert all(folder.is_relative_to(tmp_path) for folder in folders)
    monkeypatch.setattr(tvm, "__version__", "99.0")
    assert database.folder(artifact(), "llvm -num-cores=2") not in folders


def test_a_draw_of_its_own_takes_no_trials_over_and_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    target = "llvm -num-cores=2"
    with database.opened(artifact(), target, draw=0) as kept:
        assert kept == database.folder(artifact(), target)
    with database.opened(artifact(), target, draw=1) as one, database.opened(artifact(), target, draw=1) as other:
        assert len({kept, one, other}) == 3
        assert not any(one.iterdir())
    assert not one.exists()


@pytest.mark.parametrize(("content", "kept"), [("a\nb\n", "a\nb\n"), ("a\nb", "a\n"), ("a", ""), ("", "")])
def test_a_line_that_a_killed_search_did_not_finish_is_dropped(tmp_path: Path, content: str, kept: str) -> None:
    path = tmp_path / "records.json"
    path.write_text(content)
    database.drop_unfinished_line(path)
    assert path.read_text() == kept


def test_it_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        opened = database.Database(tmp_path / "tvm" / "trials")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (opened.folder, opened.folder.parent)] == [0o700, 0o700]


def test_a_missing_file_stays_missing(tmp_path: Path) -> None:
    database.drop_unfinished_line(tmp_path / "records.json")
    assert not list(tmp_path.iterdir())


def test_a_failed_trial_can_be_read_again_and_the_order_is_kept(host: Any, tmp_path: Path) -> None:
    from tvm import topi

    relu, negative = (tvm_kernel(function) for function in (topi.nn.relu, topi.negative))
    opened = database.Database(tmp_path)
    found = [a_kernel(function, host, opened) for function in (relu, negative)]
    for number, seconds in ((0, database.FAILED_S), (1, 2.0), (0, 1.0)):
        opened.commit(found[number].record(found[number].by_rule, seconds))
    again = [(name, trial.seconds) for name, trial in database.Database(tmp_path).trials()]
    assert again == [(found[0].hash, database.FAILED_S), (found[1].hash, 2.0), (found[0].hash, 1.0)]


def test_a_trace_is_the_same_text_before_and_after_it_is_written(host: Any, tmp_path: Path) -> None:
    from tvm import topi

    opened = database.Database(tmp_path)
    kernel = a_kernel(tvm_kernel(topi.nn.relu), host, opened)
    opened.commit(kernel.record(kernel.by_rule, 1.0))
    [(_, trial)] = database.Database(tmp_path).trials()
    assert trial.trace == kernel.rule_trace


def tvm_kernel(function: Callable[[Any], Any]) -> Any:
    return kernels.kernel(function, kernels.random(64, 64)).with_attr("global_symbol", "main")


def a_kernel(function: Any, host: Any, opened: database.Database) -> Kernel:
    import tvm

    module = tvm.IRModule({"main": function})
    by_rule = cpu.schedule_kernel(function, kernels.AVX2)
    return Kernel("relu", module, 1, opened.tvm.commit_workload(module), by_rule, host)
