from __future__ import annotations

import subprocess
import sys

LOADED = """
import sys
from pytest_ngraph import compilers
for name in compilers.names():
    compilers.resolve(name)
print({"numpy", "torch", "onnx", "onnxruntime", "openvino", "tvm", "tensorrt"} & sys.modules.keys())
"""


def test_collecting_tests_of_every_compiler_imports_no_library() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
