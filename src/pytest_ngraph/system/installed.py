"""What is installed here and set in the environment, found without importing a framework."""

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
"""Distributions whose versions every result follows from."""
VARIABLES = (
    "AOTINDUCTOR_", "AOT_INDUCTOR_", "ATEN_", "CUDA_LAUNCH_BLOCKING", "CUDNN_", "CXX", "DNNL_", "GLIBC_TUNABLES",
    "GOMP_", "KMP_", "LD_PRELOAD", "MALLOC_", "MKL_", "OMP_", "ONEDNN_", "OPENBLAS_", "ORT_", "OV_", "PYTORCH_",
    "TORCHINDUCTOR_", "TVM_",
)  # fmt: skip
"""What the names of variables begin with by which compilers and their libraries are set."""
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
"""Those of them that are set by libraries, or for every worker alike."""


def variables(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Those of the environment's variables by which users set compilers: `TORCHINDUCTOR_MAX_AUTOTUNE`.

    environment: this process's, unless another is given.
    """
    given = os.environ if environment is None else environment
    return {name: given[name] for name in sorted(given) if name.startswith(VARIABLES) and name not in NOT_OF_THE_USER}


@cache
def library_versions() -> dict[str, str]:
    """Versions of the installed libraries that results depend on."""
    versions = {}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            continue
    return versions


def is_importable(module: str) -> bool:
    """Whether there is a module of this name, without importing it. A folder of that name without Python in it, as one
    of ONNX files may be called `onnx`, is none."""
    try:
        found = find_spec(module)
    except (ImportError, ValueError):  # a part of a package that is missing; no name at all
        return False
    if found is None or found.origin is not None:
        return found is not None
    places = map(Path, found.submodule_search_locations or ())  # of a package without `__init__.py`, as ExecuTorch is
    return any(any(place.glob(pattern)) for place in places for pattern in ("*.py", "*/__init__.py"))
