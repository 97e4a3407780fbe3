from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph.system.installed import cxx_version, distributions_of, is_importable, providers, variables


@pytest.mark.parametrize(
    ("module", "expected"),
    [("json", True), ("json.decoder", True), ("no_such", False), ("no_such.part", False), ("", False)],
)
def test_a_module_is_found_without_importing_it(module: str, expected: bool) -> None:
    assert is_importable(module) is expected


@pytest.mark.parametrize(("file", "expected"), [("net.onnx", False), ("version.py", True), ("exir/__init__.py", True)])
def test_a_folder_of_a_librarys_name_is_one_if_there_is_python_in_it(
    file: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "like_executorch" / file
    inside.parent.mkdir(parents=True)
    inside.touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert is_importable("like_executorch") is expected


@pytest.mark.parametrize("module", ["psutil", "packaging", "typing_extensions", "torch"])
def test_modules_belong_to_distributions_whatever_built_them(module: str) -> None:
    """Of these, some have a `top_level.txt`, some only files, one a single file."""
    assert providers(module) == [module]


@pytest.mark.parametrize("listed", ["made.py,,\n", "x.py,,\nmade/deep/a.py,,\n", "made.cpython-313-darwin.so,,\n"])
def test_a_distribution_that_only_lists_its_files_has_what_it_lists(
    listed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (information := tmp_path / "maker-1.dist-info").mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: maker\nVersion: 1\n")
    (information / "RECORD").write_text(f"maker-1.dist-info/METADATA,,\n{listed}a/made.py,,\nremade.py,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert {module: providers(module) for module in ("made", "mad", "remade", "maker", "none")} == {
        "made": ["maker"],
        "mad": [],
        "remade": ["maker"],
        "maker": [],
        "none": [],
    }
    assert distributions_of("made") == {"maker": "1"}


def test_variables_are_those_that_configure_compilers_but_not_our_workers() -> None:
    given = {"TORCHINDUCTOR_MAX_AUTOTUNE": "1", "CXX": "clang++", "TVM_NUM_THREADS": "2", "HOME": "/root"}
    given |= {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
    assert variables(given) == {"CXX": "clang++", "OMP_WAIT_POLICY": "passive", "TORCHINDUCTOR_MAX_AUTOTUNE": "1"}


@pytest.mark.parametrize(
    "name",
    [
        *("CC", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CPATH", "LD_LIBRARY_PATH", "TRITON_PTXAS_PATH"),
        *("TORCHDYNAMO_SUPPRESS_ERRORS", "CUDA_HOME", "CUDA_MODULE_LOADING", "NVIDIA_PYTORCH_VERSION"),
    ],
)
def test_what_sets_the_compilers_below_is_among_them(name: str) -> None:
    assert variables({name: "x"}) == {name: "x"}


@pytest.mark.parametrize(
    "name",
    [
        *("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_REQUIRE_CUDA", "CUDA_CACHE_PATH"),
        *("TRITON_CACHE_DIR", "NVIDIA_TF32_OVERRIDE", "CCACHE_DIR"),
    ],
)
def test_what_a_container_or_a_worker_sets_is_not(name: str) -> None:
    assert variables({name: "x"}) == {}


def test_the_version_of_the_cxx_compiler_is_what_it_says_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "g++-99"
    compiler.write_text("#!/bin/sh\necho 'g++ (Ours) 99.1'\necho 'This is free software'\n")
    compiler.chmod(0o755)
    for command, version in ((str(compiler), "g++ (Ours) 99.1"), (str(tmp_path / "none"), "")):
        monkeypatch.setenv("CXX", command)
        cxx_version.cache_clear()
        assert cxx_version() == version
    cxx_version.cache_clear()


def test_a_distribution_in_two_folders_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("one", "two"):
        (folder := tmp_path / place / "twice-1.0.dist-info").mkdir(parents=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: twice\nVersion: 1.0\n")
        (folder / "RECORD").write_text("twice/__init__.py,,\n")
        monkeypatch.syspath_prepend(str(tmp_path / place))
    assert providers("twice") == ["twice"]
