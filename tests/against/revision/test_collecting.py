"""The base's cases, collected from the base's own tests in a separate process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import plain
import pytest
from repository import Repository

from pytest_ngraph.against.pairing import Collection
from pytest_ngraph.against.revision import Worktree, resolve
from pytest_ngraph.against.revision.collecting import _lines, at_base, collect, reason
from pytest_ngraph.case import Case

TEST = """
import pytest
import nets

@pytest.mark.ngraph(workload=nets.WORKLOADS, compiler="identity", batch_size=[1, 8])
def test_speed(measurement): ...

def test_plain(): ...
"""


@pytest.fixture(autouse=True)
def _of_this_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", plain.WITHOUT_PLUGINS)


@pytest.fixture
def project(repository: Repository) -> Repository:
    """At the base, `tests/test_it.py` measures `nets:build` at two batch sizes; at the head, another workload."""
    repository.write("nets.py", "WORKLOADS = ['nets:build']\n")
    repository.write("tests/test_it.py", TEST)
    repository.write("pytest.ini", "[pytest]\npythonpath = .\n")
    repository.commit("tests")
    repository.write("nets.py", "WORKLOADS = ['nets:other']\n")
    return repository


@pytest.fixture
def worktree(project: Repository, tmp_path: Path) -> Iterator[Worktree]:
    with Worktree(resolve("HEAD", project.root), tmp_path) as checked_out:
        yield checked_out


def _collect(worktree: Worktree, *arguments: str, timeout_s: float = 120) -> Collection:
    root = worktree.revision.root
    path = [str(root), *sys.path]
    return collect(worktree, arguments, rootdir=root, sys_path=path, timeout_s=timeout_s)


def _selected(collection: Collection) -> list[str]:
    return [each.nodeid for each in collection.cases if each.selected]


def test_a_line_that_was_not_finished_is_no_case(tmp_path: Path) -> None:
    """The writing process may have been killed, or the disk full."""
    file = tmp_path / "cases.jsonl"
    file.write_text('{"failed": "test_it.py", "reason": "broken"}\n{"failed": "test_th')
    assert _lines(file) == [{"failed": "test_it.py", "reason": "broken"}]


BOTH = [f"tests/test_it.py::test_speed[nets:build-identity-b{size}-cpu]" for size in (1, 8)]


def test_the_cases_are_those_of_the_base(worktree: Worktree) -> None:
    collection = _collect(worktree)
    assert _selected(collection) == BOTH
    assert collection.cases[0].case == Case(workload="nets:build", compiler="identity", batch_size=1)
    assert not collection.failed


def test_warnings_that_are_errors_are_those_of_the_project(project: Repository, tmp_path: Path) -> None:
    """Not that pytest finds this package imported before it could rewrite its assertions."""
    project.write("pytest.ini", "[pytest]\npythonpath = .\nfilterwarnings = error\n")
    project.commit("strict")
    with Worktree(resolve("HEAD", project.root), tmp_path) as worktree:
        collection = _collect(worktree)
    assert (collection.problem, collection.failed) == ("", {})
    assert len(collection.cases) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--batch-size=8",),
        ("{root}/tests/test_it.py", "-k", "b8", "--junitxml={root}/out.xml", "-x", "--pdb"),
        ("-n2", "tests", "not/at/the/base.py", "-k", "b8", "--benchmark-autosave"),
        ("tests/test_it.py::test_new", "tests/test_it.py::test_speed[nets:build-identity-b8-cpu]"),
    ],
)
def test_the_runs_own_selection(worktree: Worktree, arguments: Sequence[str]) -> None:
    root = worktree.revision.root
    before = set(root.rglob("*"))
    assert _selected(_collect(worktree, *(argument.format(root=root) for argument in arguments))) == BOTH[1:]
    assert set(root.rglob("*")) == before


@pytest.mark.parametrize(
    "options",
    [
        ("-p", "no:cacheprovider", "--log-file={log}"),
        ("--override-ini=addopts=-p no:cacheprovider", "--override-ini=log_file={log}"),
        (),
    ],
)
def test_a_strict_configuration_and_the_runs_own_log(
    worktree: Worktree, tmp_path: Path, options: Sequence[str]
) -> None:
    """The log stays as the run has written it."""
    log = tmp_path / "out.log"
    log.write_text("of the run\n")
    collection = _collect(worktree, "--strict-config", *(option.format(log=log) for option in options))
    assert not collection.failed
    assert _selected(collection) == BOTH
    assert log.read_text() == "of the run\n"


def test_an_axis_that_only_the_head_has_is_no_mistake_at_the_base(project: Repository, tmp_path: Path) -> None:
    project.write("nets.py", "WORKLOADS = ['resnet18']\n")
    project.commit("a workload without axes")
    with Worktree(resolve("HEAD", project.root), tmp_path) as worktree:
        collection = _collect(worktree, "--size", "seq_len=8")
    assert _selected(collection) == [nodeid.replace("nets:build", "resnet18") for nodeid in BOTH]
    assert not collection.failed


def test_what_is_not_selected_is_known_all_the_same(worktree: Worktree) -> None:
    for arguments, selected in ((["-k", "b8"], BOTH[1:]), ([BOTH[1].replace("build", "other")], [])):
        collection = _collect(worktree, *arguments)
        assert _selected(collection) == selected
        assert {each.nodeid for each in collection.cases} == set(BOTH)


def test_what_only_earlier_runs_select_is_not_missed(worktree: Worktree) -> None:
    for option in ("--lf", "--sw"):
        collection = _collect(worktree, option)
        assert [each.nodeid for each in collection.cases] == BOTH
        assert not _selected(collection)


def test_a_file_that_the_base_lacks_has_no_cases(worktree: Worktree) -> None:
    worktree.revision.root.joinpath("tests", "test_new.py").write_text(TEST)
    assert _collect(worktree, "tests/test_new.py") == Collection()


@pytest.mark.parametrize("asked", ["perf", "perf/test_fast.py::test_speed", "tests perf", ""])
def test_a_file_that_was_moved_since_has_its_old_cases_at_its_new_place(
    project: Repository, tmp_path: Path, asked: str
) -> None:
    project.write("perf/test_more.py", "import pytest\n")  # the folder that it is moved to
    project.write("nets.py", "WORKLOADS = ['nets:build']\n")
    project.commit("another file")
    with Worktree(resolve("HEAD", project.root), tmp_path) as worktree:
        project.git("mv", "tests/test_it.py", "perf/test_fast.py")
        collection = _collect(worktree, *asked.split())
    assert _selected(collection) == [nodeid.replace("tests/test_it.py", "perf/test_fast.py") for nodeid in BOTH]


def test_another_folder_and_root(project: Repository, tmp_path: Path) -> None:
    """Node ids are relative to the root folder of this run, paths in arguments to the current one."""
    with Worktree(resolve("HEAD", project.root / "tests"), tmp_path) as worktree:
        assert _selected(_collect(worktree, "test_it.py", "-k", "b1")) == BOTH[:1]


def test_a_broken_file_is_reported_and_the_others_collected(project: Repository, tmp_path: Path) -> None:
    project.write("nets.py", "WORKLOADS = ['nets:build']\n")
    project.write("tests/test_broken.py", "import nothing_like_it\n")
    project.write("tests/test_wrong.py", TEST.replace("batch_size", "batchsize"))
    project.commit("broken")
    with Worktree(resolve("HEAD", project.root), tmp_path) as worktree:
        collection = _collect(worktree, "-x")
    assert _selected(collection) == BOTH
    assert collection.failed["tests/test_broken.py"] == "ModuleNotFoundError: No module named 'nothing_like_it'"
    assert "unknown argument of mark ngraph 'batchsize'" in collection.failed["tests/test_wrong.py::test_speed"]


def test_a_module_of_the_users_is_not_the_standard_librarys(project: Repository, tmp_path: Path) -> None:
    """Even in the current folder, while this package and pytest are imported."""
    project.write("tests/random.py", "raise SystemExit('mine')\n")
    project.write("nets.py", "WORKLOADS = ['nets:build']\n")
    project.commit("random")
    with Worktree(resolve("HEAD", project.root / "tests"), tmp_path) as worktree:
        assert _selected(_collect(worktree, "--import-mode=importlib")) == BOTH


def test_a_module_in_the_top_folder_is_not_the_standard_librarys(repository: Repository, tmp_path: Path) -> None:
    """Plain `pytest tests` does not import from there at the head."""
    repository.write("profile.py", "raise SystemExit('mine')\n")
    repository.write("tests/test_it.py", TEST.replace("import nets", "import cProfile\nimport nets"))
    repository.write("nets.py", "WORKLOADS = ['nets:build']\n")
    repository.commit("profile")
    with Worktree(resolve("HEAD", repository.root), tmp_path) as worktree:
        collection = collect(worktree, ["tests/test_it.py"], rootdir=repository.root, sys_path=sys.path)
    assert _selected(collection) == BOTH


def test_a_broken_conftest_is_reported(project: Repository, tmp_path: Path) -> None:
    project.write("conftest.py", "import nothing_like_it\n")
    project.commit("broken")
    with Worktree(resolve("HEAD", project.root), tmp_path) as worktree:
        assert _collect(worktree).failed == {"": "ModuleNotFoundError: No module named 'nothing_like_it'"}


def test_an_option_that_the_base_lacks_is_reported(worktree: Worktree) -> None:
    assert "unrecognized arguments: --mine" in _collect(worktree, "--mine").problem


def test_a_collection_that_takes_too_long_is_reported(worktree: Worktree) -> None:
    assert _collect(worktree, timeout_s=0.01).problem.endswith("collecting took longer than 0.01 s")


def test_paths_in_cases_are_the_heads_until_they_are_built(project: Repository, tmp_path: Path) -> None:
    project.write("net.onnx", "")
    project.write("nets.py", "from pathlib import Path\nWORKLOADS = str(Path(__file__).with_name('net.onnx'))\n")
    project.commit("a file")
    with Worktree(resolve("HEAD", project.root), tmp_path) as worktree:
        case = _collect(worktree).cases[0].case
        assert case.workload == str(project.root.resolve() / "net.onnx")
        assert at_base(case, worktree).workload == str(worktree.root / "net.onnx")


def test_a_file_behind_a_link_is_the_same_case(project: Repository, tmp_path: Path) -> None:
    """The base reads what its own link leads to."""
    project.write("v1.onnx", "")
    (project.root / "latest.onnx").symlink_to("v1.onnx")
    project.write("nets.py", "from pathlib import Path\nWORKLOADS = str(Path(__file__).with_name('latest.onnx'))\n")
    project.commit("a link")
    with Worktree(resolve("HEAD", project.root), tmp_path) as worktree:
        case = _collect(worktree).cases[0].case
        assert case.workload == str(project.root.resolve() / "latest.onnx")
        assert at_base(case, worktree).workload == str(worktree.root / "latest.onnx")


def test_reasons() -> None:
    assert reason("") == "no reason given"
    assert reason("Traceback:\nE   ValueError: a\nE   TypeError: b\n=== short summary ===") == "TypeError: b"
    assert reason("usage: pytest\n__main__.py: error: unrecognized arguments: -z\n  inifile: None") == (
        "__main__.py: error: unrecognized arguments: -z"
    )
    assert reason("something\nlast\n\n") == "last"
