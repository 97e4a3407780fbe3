"""Write `serve.py`: plain code that loads the model, answers, and checks itself."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_ngraph.case import Case
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.workloads.comparing import MASK

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Array

SCRIPT, SUMS = "serve.py", "SHA256SUMS"
INPUTS, REFERENCE = "inputs.npz", "reference.npz"
STANDARD = ("import sys", "import time", "from pathlib import Path")
POOL = "from concurrent.futures import ThreadPoolExecutor"
TEXT = '''\
"""Answers with {model} at batch size {batch_size}, compiled by {compiler}. README.md says how it was measured.

python serve.py            answers the sample inputs
python serve.py --check    verifies files and outputs, prints the throughput, then what it answered
"""

{standard}

{before}{imports}

THREADS = {threads}  # as measured
{streams}BATCH_SIZE, TOLERANCE = {batch_size}, {tolerance!r}  # the tolerance is relative to an output's largest value
HERE = Path(__file__).resolve().parent
{takes}{gap}
{code}


def samples():
    """Return the sample inputs, a list of arrays."""
    return arrays("{inputs}")


def arrays(name):
    with np.load(HERE / name) as archive:
        return [archive[key] for key in sorted(archive.files)]


def mask(array):
    """Return 0 for values up to {mask:g}, the sign of larger ones, which are masks, and NaN for NaN."""
    return np.where(np.abs(array) < {mask:g}, 0, np.sign(array))


def difference(output, expected):
    """Return the largest difference over the largest expected value; infinite where both cannot be compared."""
    if output.shape != expected.shape:
        return np.inf
    if expected.dtype.kind not in "fc" or expected.size == 0:
        return 0.0 if np.array_equal(output, expected) else np.inf
    output, masks = output.astype(expected.dtype), mask(expected)  # a half cannot be compared with {mask:g}
    if not np.array_equal(mask(output), masks, equal_nan=True):
        return np.inf
    output, expected = output[masks == 0], expected[masks == 0]
    return float(np.abs(output - expected).max(initial=0) / (np.abs(expected).max(initial=0) or 1))


{seconds}


def check():
    """Verify files and outputs, print the throughput, and return the outputs. Exits with a message if it fails."""
    import hashlib
    import statistics

    for line in (HERE / "{sums}").read_text().splitlines():
        digest, name = line.split("  ", 1)
        content = np.memmap(HERE / name, mode="r") if (HERE / name).stat().st_size else b""  # may be large
        if hashlib.sha256(content).hexdigest() != digest:
            sys.exit(f"{{name}} is damaged: its SHA-256 is not the one in {sums}")
    model, inputs, expected = load(), samples(), arrays("{reference}")
    outputs = answer(model, inputs)
    if len(outputs) != len(expected):
        sys.exit(f"{{len(outputs)}} outputs, expected {{len(expected)}}")
    error = max(map(difference, outputs, expected))
    if error > TOLERANCE:
        sys.exit(f"the outputs differ from the reference by {{error:.1e}}; at most {{TOLERANCE}} is allowed")
    print(f"outputs agree with the reference: largest difference {{error:.1e}}")
    calls = 1
    seconds(model, inputs, 5)
    while seconds(model, inputs, calls) < 0.1:  # some runtimes optimize in their first calls
        calls *= 2
    rounds, end = [], time.perf_counter() + 3
    while len(rounds) < 5 or time.perf_counter() < end:
        rounds.append(seconds(model, inputs, calls) / calls)
    per_s = {per_call} / statistics.median(rounds)
    print(f"{{per_s:{{'.1f' if per_s >= 10 else '.3g'}}}} samples/s, the median of {{len(rounds)}} rounds")
    return outputs


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    for output in check() if sys.argv[1:] else answer(load(), samples()):
        print(output.dtype, output.shape)


if __name__ == "__main__":
    main()
'''
ALONE = '''\
def seconds(model, inputs, calls):
    """Return how long so many calls take."""
    started = time.perf_counter()
    for _ in range(calls):
        answer(model, inputs)
    return time.perf_counter() - started'''
LOCK = "LOCK = threading.Lock()  # the model takes one call at a time\n"
LOCKED = """


def answer(model, inputs):
    with LOCK:
        return answer_alone(model, inputs)"""
IN_STREAMS = '''\
def seconds(model, inputs, calls):
    """Return how long so many calls take in each of STREAMS threads, side by side."""

    def stream(_):
        for _ in range(calls):
            answer(model, inputs)

    started = time.perf_counter()
    list(POOL.map(stream, range(STREAMS)))
    return time.perf_counter() - started'''

TAKES = '''\
TAKES = {takes}


def require(inputs):
    """Raise `ValueError` for inputs of other types or shapes: the runtime would take them, and answer wrongly."""
    given = [(each.dtype.name, each.shape) for each in inputs]
    if given != TAKES:
        raise ValueError(f"the model takes {{TAKES}}, not {{given}}")

'''


def throughput_in(checked: str) -> float:
    """Return the samples a second that a check has printed."""
    return float(checked.rpartition(" samples/s")[0].splitlines()[-1])


def script(
    case: Case, serving: Serving, inputs: Sequence[Array], threads: int, tolerance: float, mask: float = MASK
) -> str:
    """Return the text of `serve.py`.

    Args:
        inputs: the sample inputs.
        threads: threads that the case was measured with.
        tolerance: largest relative difference from the reference that is allowed.
        mask: the least value of a mask among the outputs; all other values are smaller.
    """
    in_streams = serving.streams > 1
    is_locked = not (in_streams or serving.concurrent)
    code = serving.code.strip("\n")
    if is_locked:
        code = re.sub(r"^def answer\(", "def answer_alone(", code, flags=re.MULTILINE) + LOCKED
    own = {line for line in serving.imports if _is_standard(line)} | set(["import threading"] * is_locked)
    heavy = sorted({"import numpy as np", *serving.imports} - own, key=_order)
    streams = f"STREAMS = {serving.streams}  # calls side by side, as measured\nPOOL = ThreadPoolExecutor(STREAMS)\n"
    return TEXT.format(
        model=_quoted(case.network_label),
        compiler=_quoted(case.compiler),
        batch_size=case.batch_size,
        standard="\n".join(sorted({*STANDARD, *own, *([POOL] if in_streams else [])}, key=_order)),
        before="".join(f"{line}\n" for line in serving.before) + "\n" * bool(serving.before),
        imports="\n".join(heavy),
        threads=serving.threads or threads,
        streams=streams if in_streams else LOCK * is_locked,
        tolerance=tolerance,
        mask=mask,
        takes=TAKES.format(takes=[(each.dtype.name, each.shape) for each in inputs]) if serving.takes_any else "",
        gap="\n" if code.startswith("def ") else "",
        code=code,
        inputs=INPUTS,
        reference=REFERENCE,
        sums=SUMS,
        seconds=IN_STREAMS if in_streams else ALONE,
        per_call="BATCH_SIZE * STREAMS" if in_streams else "BATCH_SIZE",
    )


def _quoted(text: str) -> str:
    """Return a name as it may stand in a docstring."""
    return text.replace("\\", "/").replace('"', "'")


def _is_standard(line: str) -> bool:
    return line.split()[1].partition(".")[0] in sys.stdlib_module_names


def _order(line: str) -> tuple[bool, str]:
    """Return a key that sorts as ruff does: `import a` before `from a import b`."""
    return line.startswith("from "), line.lower()
