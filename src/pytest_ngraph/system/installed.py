"""Installed libraries, the C++ compiler and environment variables, found without importing a framework."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
"""The folder of pytest-ngraph itself, its links resolved."""
OWN = "pytest-ngraph"
"""The name of the distribution."""
LIBRARIES = (
    "torch",
    "torchvision",
    "timm",
    "onnx",
    "onnxruntime",
    "onnxruntime-directml",
    "onnxruntime-gpu",
    "onnxruntime-migraphx",
    "onnxruntime-openvino",
    "onnxruntime-qnn",
    "onnxruntime-rocm",
    "onnxscript",
    "openvino",
    "apache-tvm",
    "tensorrt",
    "tensorrt-rtx-cu13",
    "executorch",
    "triton",
    "numpy",
    "pytest-benchmark",
    OWN,
)
"""Distributions on whose versions every result depends."""
VARIABLES = (
    "AOTINDUCTOR_", "AOT_INDUCTOR_", "ATEN_", "CFLAGS", "CPATH", "CPLUS_INCLUDE_PATH", "CPPFLAGS", "CUBLAS", "CUDA_",
    "CUDNN_", "CXX", "C_INCLUDE_PATH", "DNNL_", "GLIBC_TUNABLES", "GOMP_", "KMP_", "LDFLAGS", "LD_LIBRARY_PATH",
    "LD_PRELOAD", "LIBRARY_PATH", "MALLOC_", "MKL_", "NVIDIA_", "OMP_", "ONEDNN_", "OPENBLAS_", "ORT_", "OV_",
    "PYTORCH_", "TORCHDYNAMO_", "TORCHINDUCTOR_", "TRITON_", "TVM_",
)  # fmt: skip
"""Prefixes of the environment variables that configure compilers and their libraries."""
C_COMPILER = "CC"
"""Triton's. It is no prefix: `CCACHE_DIR` says nothing about what is compiled."""
OF_CONTAINERS = (
    "CUDA_CACHE_", "CUDA_DEVICE_ORDER", "CUDA_MPS_LOG_DIRECTORY", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_VISIBLE_DEVICES",
    "NVIDIA_CTK_", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_REQUIRE_", "NVIDIA_VISIBLE_DEVICES",
)  # fmt: skip
"""Prefixes of variables that schedulers and container runtimes set, to other values for each job.

They say which GPUs a process sees, which results depend on by the GPUs' names, and where it finds files.
"""
NOT_OF_THE_USER = (
    "KMP_DUPLICATE_LIB_OK",
    "KMP_INIT_AT_FORK",
    "MKL_NUM_THREADS",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "OPENBLAS_NUM_THREADS",
    "ORT_DISABLE_TELEMETRY",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "TVM_NUM_THREADS",
    "TVM_THREAD_POOL_SPIN_COUNT",
)
"""Variables with these prefixes that libraries set, or that are the same for every worker."""
VERSION_S = 60.0
"""How long a compiler may take to say its version."""


def variables(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment variables with which users configure compilers, such as `TORCHINDUCTOR_MAX_AUTOTUNE`.

    Args:
        environment: by default, this process's.
    """
    given = os.environ if environment is None else environment
    return {name: given[name] for name in sorted(given) if _configures(name)}


@cache
def _configures(name: str) -> bool:
    """Return whether a user may configure a compiler by the environment variable of this name."""
    is_noise = name in NOT_OF_THE_USER or name.startswith(OF_CONTAINERS)
    return (name == C_COMPILER or name.startswith(VARIABLES)) and not is_noise


def cxx() -> str:
    """Return the C++ compiler that PyTorch uses: the command, which may not exist."""
    return os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")


@cache
def cxx_version() -> str:
    """Return the first line of what the C++ compiler says of its version; empty if there is none."""
    try:
        ended = subprocess.run([cxx(), "--version"], capture_output=True, text=True, timeout=VERSION_S, check=True)
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return next(iter(ended.stdout.splitlines()), "").strip()


@cache
def library_versions() -> dict[str, str]:
    """Return the versions of the installed libraries on which results depend."""
    versions = {}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            continue
    return versions


def providers(module: str) -> list[str]:
    """Return the names of the installed distributions that have a top-level module, each once.

    Several folders of `sys.path` may have a distribution, as setuptools brings its own copies. The standard library's
    `packages_distributions` answers for every module at once, and reads all lists of files for it, which takes ten
    times as long; Python 3.10's does not know of a distribution without `top_level.txt`.
    """
    found = importlib.metadata.distributions()
    return list(dict.fromkeys(each.metadata["Name"] for each in found if _provides(each, module)))


def distributions_of(module: str) -> dict[str, str]:
    """Return the installed distributions that have a top-level module, with their versions, sorted by name."""
    return {name: version(name) for name in sorted({*providers(module)})}


def _provides(distribution: importlib.metadata.Distribution, module: str) -> bool:
    """Return whether a distribution has a top-level module: it says so, or lists a folder or file of that name."""
    if declared := (distribution.read_text("top_level.txt") or "").split():
        return module in declared
    listed = distribution.read_text("RECORD") or ""
    return re.search(rf"^{re.escape(module)}(/|\.[^/]*,)", listed, re.MULTILINE) is not None


def is_importable(module: str) -> bool:
    """Return whether there is a module of this name, without importing it.

    A folder without Python files does not count: a user's folder of ONNX files may be called `onnx`.
    """
    try:
        found = find_spec(module)
    except (ImportError, ValueError):  # part of a missing package; an empty name
        return False
    if found is None or found.origin is not None:
        return found is not None
    places = map(Path, found.submodule_search_locations or ())  # a package without `__init__.py`, such as ExecuTorch
    return any(any(place.glob(pattern)) for place in places for pattern in ("*.py", "*/__init__.py"))


def lacking(modules: Iterable[str]) -> list[str]:
    """Return those of these modules that are not importable."""
    return [module for module in modules if not is_importable(module)]
