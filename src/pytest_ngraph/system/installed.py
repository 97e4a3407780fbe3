"""Installed libraries and environment variables, found without importing a framework."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
"""The folder of pytest-ngraph itself, its links resolved."""
LIBRARIES = (
    "torch",
    "torchvision",
    "timm",
    "onnx",
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxscript",
    "openvino",
    "apache-tvm",
    "tensorrt",
    "tensorrt-rtx-cu13",
    "executorch",
    "triton",
    "numpy",
    "pytest-benchmark",
    "pytest-ngraph",
)
"""Distributions on whose versions every result depends."""
VARIABLES = (
    "AOTINDUCTOR_", "AOT_INDUCTOR_", "ATEN_", "CUDA_LAUNCH_BLOCKING", "CUDNN_", "CXX", "DNNL_", "GLIBC_TUNABLES",
    "GOMP_", "KMP_", "LD_PRELOAD", "MALLOC_", "MKL_", "OMP_", "ONEDNN_", "OPENBLAS_", "ORT_", "OV_", "PYTORCH_",
    "TORCHINDUCTOR_", "TVM_",
)  # fmt: skip
"""Prefixes of the environment variables that configure compilers and their libraries."""
NOT_OF_THE_USER = (
    "KMP_DUPLICATE_LIB_OK",
    "KMP_INIT_AT_FORK",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "OPENBLAS_NUM_THREADS",
    "ORT_DISABLE_TELEMETRY",
    "TORCHINDUCTOR_CACHE_DIR",
    "TVM_NUM_THREADS",
    "TVM_THREAD_POOL_SPIN_COUNT",
)
"""Variables with these prefixes that libraries set, or that are the same for every worker."""


def variables(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment variables with which users configure compilers, such as `TORCHINDUCTOR_MAX_AUTOTUNE`.

    Args:
        environment: by default, this process's.
    """
    given = os.environ if environment is None else environment
    return {name: given[name] for name in sorted(given) if name.startswith(VARIABLES) and name not in NOT_OF_THE_USER}


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
