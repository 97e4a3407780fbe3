"""Inductor's builds run side by side on all cores, in the order in which their objects are needed."""

from __future__ import annotations

import subprocess
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from compiled import CPU, Export

from pytest_ngraph.case import Case
from pytest_ngraph.compilers import threads
from pytest_ngraph.compilers.inductor import Inductor, cpp_builds, cpp_parts
from pytest_ngraph.compilers.inductor.cpp_builds import Builds
from pytest_ngraph.compilers.inductor.cpp_parts import Part
from pytest_ngraph.compilers.inductor.package import PACKAGE
from pytest_ngraph.workloads.verify import verify

CASE = Case(workload="mha", compiler="inductor", batch_size=1, width=24)


class Builder:
    """A `CppBuilder` with a command of its own."""

    def __init__(self, target: Path, *sources: Path, compile_only: bool) -> None:
        self._target = target
        self.words = ["g++", *map(str, sources), *(["-c"] if compile_only else []), "-o", str(target)]

    def get_command_line(self) -> str:
        return " ".join(self.words)

    def get_target_file_path(self) -> str:
        return str(self._target)


class Compiler:
    """Stands for `torch._inductor.cpp_builder`; a file is compiled when its name is allowed to be."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.may_go_on = threading.Event()
        self.fails = ""
        self.CppBuilder = SimpleNamespace(build=self._build)

    def run_compile_cmd(self, command: str, folder: str) -> None:
        words = command.split()
        target = Path(words[words.index("-o") + 1])
        if self.fails and self.fails in command:
            raise ValueError(command)
        if "-c" in words:
            assert self.may_go_on.wait(10)
        target.write_text(" ".join(Path(word).read_text() for word in words[1:] if Path(word).is_file()))
        self.done.append(target.name.removesuffix(".new"))

    def _build(self, builder: Builder) -> None:
        self.run_compile_cmd(builder.get_command_line(), ".")


@pytest.fixture
def compiler() -> Compiler:
    return Compiler()


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A wrapper in three parts, one of which is common, and kernels in one."""
    monkeypatch.setattr(cpp_builds, "_common", lambda: tmp_path)
    cut = [Part("a"), Part("b"), Part("c", is_common=True)]
    monkeypatch.setattr(cpp_parts, "parts", lambda file, text: cut if "wrapper" in file else [Part(text)])
    files = {name: tmp_path / f"{name}.cpp" for name in ("x.wrapper", "x.kernel")}
    for name, path in files.items():
        path.write_text(name)
    return files


def build(compiler: Any, *builders: Builder) -> None:
    with ThreadPoolExecutor(4) as pool:
        method = Builds(pool, compiler).as_method()
        for builder in builders:
            method(builder)


def objects(sources: dict[str, Path]) -> list[Builder]:
    return [Builder(path.with_suffix(".o"), path, compile_only=True) for path in sources.values()]


def test_a_link_waits_for_all_objects(compiler: Compiler, sources: dict[str, Path], tmp_path: Path) -> None:
    wrapper, kernel = objects(sources)
    link = Builder(tmp_path / "x.so", tmp_path / "x.wrapper.o", tmp_path / "x.kernel.o", compile_only=False)
    started = threading.Timer(0.2, compiler.may_go_on.set)  # both are started before either may end
    started.start()
    build(compiler, wrapper, kernel, link)
    assert (tmp_path / "x.so").read_text() == "a b c x.kernel"
    assert compiler.done[-1] == "x.so"


def test_what_is_the_same_for_every_model_is_compiled_once(compiler: Compiler, sources: dict[str, Path]) -> None:
    compiler.may_go_on.set()
    wrapper, _ = objects(sources)
    link = Builder(sources["x.wrapper"].with_suffix(".so"), compile_only=False)
    build(compiler, wrapper, link)
    first = len(compiler.done)
    build(compiler, wrapper, link)
    assert len(compiler.done) == 2 * first - 1


def test_parts_that_do_not_compile_are_built_whole(compiler: Compiler, sources: dict[str, Path]) -> None:
    compiler.may_go_on.set()
    compiler.fails = "part1"
    wrapper, _ = objects(sources)
    build(compiler, wrapper, Builder(sources["x.wrapper"].with_suffix(".so"), compile_only=False))
    assert sources["x.wrapper"].with_suffix(".o").read_text() == "x.wrapper"


def test_what_does_not_compile_is_reported_when_it_is_linked(compiler: Compiler, sources: dict[str, Path]) -> None:
    compiler.fails = "x.kernel"
    _, kernel = objects(sources)
    with pytest.raises(ValueError, match=r"x\.kernel"):
        build(compiler, kernel, Builder(sources["x.kernel"].with_suffix(".so"), compile_only=False))


@pytest.mark.slow
def test_kernels_of_a_package_built_in_parts_have_the_same_instructions(exported: Export, tmp_path: Path) -> None:
    kernels = []
    for name, cores in (("whole", (0,)), ("parts", (0, 1))):
        folder = tmp_path / name
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(threads, "compiling_cores", lambda cores=cores: cores)
            Inductor().compile(exported(CASE), CPU, folder)
        kernels.append(_kernels(folder / PACKAGE))
        model = Inductor().load(exported(CASE), CPU, folder)
        assert verify(model.outputs(), exported(CASE).reference(), "fp32").agrees
        model.close()
    whole, parts = kernels
    assert len(whole) > 1
    assert parts == whole


def _kernels(package: Path) -> dict[str, list[str]]:
    """Return the operations of each kernel, without addresses."""
    with zipfile.ZipFile(package) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".so"))
        library = archive.extract(name, package.parent)
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], check=True, capture_output=True, text=True)
    found: dict[str, list[str]] = {}
    for block in text.stdout.split("\n\n"):
        heading, *lines = block.strip().splitlines() or [""]
        if "cpp_fused" in heading and "@plt" not in heading:
            found[heading.partition("<")[2]] = [line.split()[1] for line in lines if len(line.split()) > 1]
    return found
