"""Fresh processes that serve: what they hold, how they are bound, what they cost, and how they fail."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path

import launched as made_up
import pytest

from pytest_ngraph.costs import ServingLaunch
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.serving import launches
from pytest_ngraph.serving.launches import Place, in_turn, launched

CORES = sorted(os.sched_getaffinity(0))[:1]
SEEN = """
import json, sys
seen = {"modules": sorted(sys.modules), "cores": sorted(os.sched_getaffinity(0)), "isolated": sys.flags.isolated,
        "variable": os.environ.get("MINE"), "folder": os.getcwd()}
open("seen.json", "w").write(json.dumps(seen))
"""
MIB = 2**20


def launch(folder: Path, timeout_s: float = 60, **fields: object) -> ServingLaunch:
    return launched(Place(folder=folder, cores=CORES, **fields), timeout_s)  # type: ignore[arg-type]


def test_it_holds_nothing_else_and_is_bound(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    launch(made_up.folder(tmp_path, SEEN), variables={"MINE": "yes"})
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["cores"] == CORES
    assert (seen["isolated"], seen["variable"], seen["folder"]) == (1, "yes", str(tmp_path))
    assert not {"pytest", "pytest_ngraph", "numpy", "subprocess", "typing"}.intersection(seen["modules"])
    assert os.sched_getaffinity(0) == before
    assert {path.name for path in tmp_path.iterdir()} == {"serve.py", "seen.json"}, "no bytecode is left"


def test_packages_elsewhere_are_found_and_nothing_else_that_is_the_users(tmp_path: Path) -> None:
    (packages := tmp_path / "packages").mkdir()
    (packages / "elsewhere.py").write_text("")
    (own := tmp_path / "own").mkdir()
    (own / "mine.py").write_text("")
    folder, variables = made_up.folder(tmp_path / "a", "import elsewhere\n"), {"PYTHONPATH": str(own)}
    launch(folder, variables=variables, packages=[str(packages)])
    with pytest.raises(NgraphError, match="No module named 'elsewhere'"):
        launch(folder, variables=variables)
    for code in ("import mine\n", "import launches\n"):
        with pytest.raises(NgraphError, match="No module named"):
            launch(made_up.folder(tmp_path / "b", code), variables=variables, packages=[str(packages)])


@pytest.mark.parametrize(
    ("requirements", "found"), [("numpy==2.0\n", False), ("numpy==2.0\ntorch==2.8.0  # why\n", True), (None, True)]
)
def test_a_framework_that_is_not_required_is_not_found(tmp_path: Path, requirements: str | None, found: bool) -> None:
    (packages := tmp_path / "packages").mkdir()
    (packages / "torch.py").write_text("")
    importing = (
        "try:\n    import torch\nexcept ImportError:\n    torch = None\nopen('found', 'w').write(str(bool(torch)))\n"
    )
    folder = made_up.folder(tmp_path / "a", importing)
    if requirements:
        (folder / "requirements.txt").write_text(requirements)
    launch(folder, packages=[str(packages)])
    assert (folder / "found").read_text() == str(found)


def test_packages_are_found_where_the_user_has_python_put_no_folder_of_scripts_on_the_path(tmp_path: Path) -> None:
    (packages := tmp_path / "packages").mkdir()
    (packages / "elsewhere.py").write_text("")
    folder = made_up.folder(tmp_path / "a", "import elsewhere, sys\nopen('path', 'w').write(repr(sys.path))\n")
    launch(folder, variables={"PYTHONSAFEPATH": "1"}, packages=[str(packages)])
    assert str(packages) in (folder / "path").read_text()


def test_temporary_files_that_it_leaves_are_removed(tmp_path: Path) -> None:
    """The process ends at once, without the clean-up of libraries that unpack a model there."""
    leaving = "import tempfile\nopen('left.txt', 'w').write(tempfile.mkdtemp())\n"
    launch(made_up.folder(tmp_path, leaving))
    left = Path((tmp_path / "left.txt").read_text())
    assert left.name
    assert not left.exists()


def test_seconds_are_from_exec_to_the_first_answer_without_reading_the_samples() -> None:
    found = launches._launch(100.0, [100.1, 100.5, 101.0, 109.0, 109.25, 3e8, 2e8, 4e8])
    assert found.cold_start_s == pytest.approx(1.25)
    parts = found.serving_import_s, found.serving_load_s, found.serving_first_call_s
    assert parts == pytest.approx((0.4, 0.5, 0.25))
    assert (found.serving_memory_bytes, found.serving_private_bytes, found.serving_peak_bytes) == (3e8, 2e8, 4e8)


def test_memory_that_the_kernel_does_not_report_is_unknown() -> None:
    assert launches._launch(0.0, [1, 2, 3, 4, 5, -1, -1, -1]).serving_memory_bytes is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports it")
def test_memory_is_that_after_it_has_stopped_growing(tmp_path: Path) -> None:
    """Each of the first calls keeps more, and one needs much for a moment."""
    answer = "len(model) < 30 and model.append(b'x' * 2**20); len(model) == 20 and b'y' * (64 * 2**20)"
    small, found = launch(made_up.folder(tmp_path / "a")), launch(made_up.folder(tmp_path / "b", answer=answer))
    grown = [
        getattr(found, name) - getattr(small, name)
        for name in ("serving_memory_bytes", "serving_private_bytes", "serving_peak_bytes")
    ]
    assert 29 * MIB < grown[0] < 40 * MIB
    assert 29 * MIB < grown[1] < 40 * MIB
    assert grown[2] > 80 * MIB


def test_streams_answer_side_by_side(tmp_path: Path) -> None:
    imported = (
        "import threading\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "STREAMS, POOL, both, first = 2, ThreadPoolExecutor(2), threading.Barrier(2, timeout=30), []"
    )
    answers = "(both.wait(), open(threading.current_thread().name, 'w').close()) if first else first.append(1)"
    launch(made_up.folder(tmp_path, imported, answer=answers))
    assert len([path for path in tmp_path.iterdir() if path.name != "serve.py"]) == 2


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("raise ValueError('no model')", "a process that serves ended with status 1: ValueError: no model"),
        ("os.kill(os.getpid(), 11)", "a process that serves was killed by signal 11"),
        ("os._exit(0)", "a process that serves ended with status 0"),
    ],
)
def test_a_process_that_does_not_answer_is_one_message(tmp_path: Path, statement: str, problem: str) -> None:
    with pytest.raises(NgraphError) as raised:
        launch(made_up.folder(tmp_path, load=statement))
    assert str(raised.value) == problem


def test_a_process_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    hangs = "open('pid', 'w').write(str(os.getpid())); __import__('time').sleep(600)"
    with pytest.raises(NgraphError, match=r"took longer than 3 s and was killed"):
        launch(made_up.folder(tmp_path, load=hangs), timeout_s=3)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_an_interpreter_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(NgraphError, match="a process that serves cannot be started: "):
        launch(made_up.folder(tmp_path), python="/no/such/python")


def test_places_are_launched_in_turn_and_the_first_of_several_cycles_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []

    def count(place: Place, timeout_s: float) -> ServingLaunch:
        order.append(place.folder.name)
        return dataclasses.replace(made_up.LAUNCH, cold_start_s=float(len(order)))

    monkeypatch.setattr(launches, "launched", count)
    places = [Place(folder=Path(name), cores=CORES) for name in "ab"]
    cycles: list[int] = []
    found = in_turn(places, 1.0, cycles.append, 2)
    assert ("".join(order), cycles) == ("abbaab", [0, 1, 2])
    assert [[launch.cold_start_s for launch in own] for own in found] == [[4, 5], [3, 6]]
    order.clear()
    found = in_turn(places, 1.0, cycles.append, 1)
    assert "".join(order) == "ab", "a single launch counts"
    assert [[launch.cold_start_s for launch in own] for own in found] == [[1], [2]]
