"""What collecting cases costs, against plain parametrize of the same size, and what `--help` imports.

    python tools/collection_cost.py [CASES]

Both sides collect in fresh processes in turn; the ratio is of each pair, and the median of the pairs is printed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAIRS = 5
FRAMEWORKS = ("torch", "timm", "onnxruntime", "openvino", "tvm")

OURS = """
import pytest

@pytest.mark.ngraph(
    workload="conv", compiler=["identity", "torchscript"], depth=range(1, {depths} + 1), width=range(1, 51),
    batch_size=range(1, 11),
)
def test_case(measurement): ...
"""

PLAIN = """
import pytest

@pytest.mark.parametrize("compiler", ["identity", "torchscript"])
@pytest.mark.parametrize("size", range({depths} * 50))
@pytest.mark.parametrize("batch_size", range(10))
def test_case(compiler, size, batch_size): ...
"""

IMPORTED = """
import sys, pytest
pytest.main({arguments!r})
print("imported:", sorted(set({frameworks!r}) & set(sys.modules)) or "none of " + ", ".join({frameworks!r}))
"""


def collect_s(folder: Path, *extra: str) -> float:
    """Seconds of `pytest --collect-only` in a fresh process, start-up included."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", *extra, str(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return time.perf_counter() - started


def imported(folder: Path, *arguments: str) -> str:
    """Which frameworks a pytest run has imported."""
    code = IMPORTED.format(arguments=[*arguments], frameworks=FRAMEWORKS)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def main(cases: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        ours, plain = Path(name, "ours"), Path(name, "plain")
        for folder, text in ((ours, OURS), (plain, PLAIN)):
            folder.mkdir()
            (folder / "test_case.py").write_text(text.format(depths=cases // 1000))
        collect_s(ours)  # writes the bytecode that every later start of the same installation finds
        pairs = [(collect_s(ours), collect_s(plain, "-p", "no:ngraph")) for _ in range(PAIRS)]
        ratio = statistics.median(a / b for a, b in pairs)
        print(f"collecting {cases} cases, median of {PAIRS} pairs of fresh processes")
        print(f"  pytest-ngraph      {statistics.median(a for a, _ in pairs):6.2f} s")
        print(f"  plain parametrize  {statistics.median(b for _, b in pairs):6.2f} s")
        print(f"  ratio              {ratio:6.2f}")
        print(f"pytest --help          {imported(ours, '--help')}")
        print(f"pytest --collect-only  {imported(ours, '--collect-only', '-qq')}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
