"""What Inductor finds out about vector instructions is kept from one session to the next."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch._inductor import cpu_vec_isa

from pytest_ngraph.compilers.inductor import vector_isa
from pytest_ngraph.compilers.inductor.caching import CACHE


@pytest.fixture(autouse=True)
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's caches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users"))
    return tmp_path / "users"


@pytest.fixture(autouse=True)
def in_new_processes() -> Iterator[None]:
    vector_isa.find_out.cache_clear()
    yield
    vector_isa.find_out.cache_clear()


class Finding:
    """Stands for what Inductor does: it compiles the programs that its cache lacks, and notes those that load."""

    def __init__(self, *, loads: bool = True) -> None:
        self.compiled: list[str] = []
        self._loads = loads

    def __call__(self) -> None:
        for name in ("ab/avx512.so", "cd/vnni.so"):
            program = Path(os.environ[CACHE], name)
            if not program.exists():
                program.parent.mkdir(parents=True, exist_ok=True)
                program.write_text("compiled")
                self.compiled.append(program.name)
            if self._loads:
                program.with_name(f"{program.name}.load_ok").touch()


def found_out(monkeypatch: pytest.MonkeyPatch, *, loads: bool = True) -> list[str]:
    """Return what a new process compiles to find out."""
    finding = Finding(loads=loads)
    monkeypatch.setattr(cpu_vec_isa, "valid_vec_isa_list", finding)
    vector_isa.find_out.cache_clear()
    vector_isa.find_out()
    vector_isa.find_out()
    return finding.compiled


def test_the_next_process_finds_what_one_has_compiled(monkeypatch: pytest.MonkeyPatch, users: Path) -> None:
    assert found_out(monkeypatch) == ["avx512.so", "vnni.so"]
    assert found_out(monkeypatch) == []
    assert [file.stat().st_mode & 0o077 for file in (users / "pytest-ngraph").iterdir()] == [0]


def test_a_program_that_did_not_load_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found_out(monkeypatch, loads=False) == ["avx512.so", "vnni.so"]
    assert found_out(monkeypatch) == ["avx512.so", "vnni.so"], "it may be a part that a killed compiler left"


def test_without_a_folder_to_keep_them_they_are_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    for _ in range(2):
        assert found_out(monkeypatch) == ["avx512.so", "vnni.so"]


def test_a_version_of_pytorch_that_finds_out_elsewhere_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, users: Path
) -> None:
    monkeypatch.delattr(cpu_vec_isa, "valid_vec_isa_list")
    vector_isa.find_out()
    assert not users.exists()
