"""Write the README of a folder that serves: how to use it, and how it was measured."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from importlib.metadata import version

from pytest_ngraph.artifact import Target
from pytest_ngraph.case import CompilerSpec
from pytest_ngraph.compilers import kinds
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.costs import COSTS, Costs
from pytest_ngraph.metrics import DEFINITIONS
from pytest_ngraph.metrics.text import with_interval
from pytest_ngraph.record import Record
from pytest_ngraph.serving.script import INPUTS, REFERENCE, SCRIPT, SUMS
from pytest_ngraph.serving.written import Written
from pytest_ngraph.store import Run
from pytest_ngraph.wording import counted

TEXT = """\
# {model} at batch size {batch_size}, compiled by {compiler}

```sh
pip install -r requirements.txt
python serve.py --check
```

It was measured with Python {python} on {architecture}; for others, packages may not exist in these versions. The check
verifies the files and the outputs, and prints the throughput. In a service, import `serve` from this folder:

```python
import serve

model = serve.load()  # once
outputs = serve.answer(model, serve.samples())  # lists of NumPy arrays
```

{threads}

Inputs have these types and shapes, the batch size included. For another batch size, measure and deploy that.

{inputs}

{outputs}

## How it was measured

{measured}

`{script}` uses as many threads. To bind them to cores, as they were when this was measured: `taskset -c {cores} python
{script} --check`.{device}{notes}

## What it costs to serve

{costs}

Measured in {launches}, one after another, each a fresh process that imports `serve`, bound to the same cores. All
files were in the page cache. Median, with its 95 % interval.

## Files

{files}
"""
LABELS = {
    "cold_start_s": "cold start, from exec to the first answer",
    "serving_import_s": "of it: importing `serve`",
    "serving_load_s": "of it: `load()`",
    "serving_first_call_s": "of it: the first `answer()`",
    "serving_memory_bytes": "resident memory, once steady",
    "serving_private_bytes": "of it: private to the process",
    "serving_peak_bytes": "peak of resident memory",
    "artifact_bytes": "files that `load()` reads",
    "install_bytes": "what `requirements.txt` installs",
}
"""What the costs are, in words."""


def readme(record: Record, run: Run, target: Target, written: Written, costs: Costs) -> str:
    """Return the text of the README."""
    case, environment = record.case, run.environment_of(record.case.device)
    return TEXT.format(
        model=case.network_label,
        python=environment.get("python", "of an unknown version"),
        architecture=environment.get("architecture", "an unknown architecture"),
        batch_size=case.batch_size,
        compiler=case.compiler,
        inputs=_table(("input", "type", "shape"), written.inputs),
        outputs=_table(("output", "type", "shape"), written.outputs),
        measured=_table(("what", "value"), list(_measured(record, run, target, written))),
        script=SCRIPT,
        cores=",".join(map(str, target.cores)),
        costs=_table(("what", "value"), list(in_words(costs))),
        launches=counted(len(costs.launches), "launch", "launches"),
        threads=_callers(written.serving),
        device=_device(target),
        notes="".join(f" {note}" for note in written.serving.notes),
        files=_table(("file", "what it is"), list(_files(written))),
    )


def in_words(costs: Costs) -> Iterator[tuple[str, str]]:
    """Yield what each known cost is, and its value with its interval."""
    for name in COSTS:
        estimate = costs.estimate(name)
        if estimate is not None:
            yield LABELS[name], with_interval(estimate, DEFINITIONS[name].unit)


def _measured(record: Record, run: Run, target: Target, written: Written) -> Iterator[tuple[str, str]]:
    case, environment = record.case, run.environment_of(record.case.device)
    middle, low, high = record.throughput_interval
    options = ", ".join(f"{name}={value}" for name, value in CompilerSpec.parse(case.compiler).options)
    yield "throughput", f"{middle:.4g} samples/s (95 % interval: {low:.4g} to {high:.4g})"
    streams = written.serving.streams
    call, beside = 1000 * streams * record.latency_s, f", {streams} side by side" if streams > 1 else ""
    yield f"time of one call{beside}", f"{call:.4g} ms (median of {counted(len(record.rounds), 'round')})"
    yield "measured for", f"{case.objective}, in {case.precision}"
    yield "threads", f"{_threads(written.serving, target)}, bound to cores"
    yield "compiler's options", options or "none"
    yield "as the model reports", "; ".join(f"{name} {value}" for name, value in record.facts.items())
    yield (
        "outputs",
        (
            f"largest relative difference from the reference {written.agreement.error:.1e}, "
            f"at most {written.agreement.tolerance:.0e} is allowed"
        ),
    )
    if (compile_s := record.total_compile_s) is not None:
        yield "time to compile", f"{compile_s:.3g} s"
    yield (
        "machine",
        f"{environment.get('processor', 'unknown processor')}, {environment.get('system', '')}".rstrip(", "),
    )
    if target.kind != "cpu":
        yield "GPU", environment.get("gpu", "")
    yield "Python", environment.get("python", "")
    yield "date", datetime.fromtimestamp(record.started_at, tz=timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    yield "run and case", f"{run.id}, {case.id}"
    yield "by", f"pytest-ngraph {version('pytest-ngraph')}"


def _callers(serving: Serving) -> str:
    """Return whether threads of a service answer side by side."""
    if serving.streams > 1 or serving.concurrent:
        return "Several threads may call `answer` at a time."
    return "Several threads may call `answer`. It takes one call at a time, so `serve.py` answers in turn."


def _device(target: Target) -> str:
    """Return how to choose the device, where there may be several; empty on a CPU."""
    chosen = kinds.named(target.kind).only(target.index, os.environ)
    return "".join(f" It uses the first GPU that it sees; this was measured with `{k}={v}`." for k, v in chosen.items())


def _threads(serving: Serving, target: Target) -> str:
    threads = serving.threads or target.threads
    if serving.streams == 1:
        return counted(threads, "thread")
    each = "each of " if serving.threads else ""
    return f"{counted(threads, 'thread')} for {each}{serving.streams} calls side by side"


def _files(written: Written) -> Iterator[tuple[str, str]]:
    yield from ((f"`{name}`", what) for name, what in sorted(written.serving.files.items()))
    yield f"`{SCRIPT}`", "loads the model and answers"
    yield "`requirements.txt`", "what it needs, in the versions that were measured"
    yield f"`{INPUTS}`", "the sample inputs, those that it was measured with"
    yield f"`{REFERENCE}`", "the outputs for them, from the uncompiled model in fp32"
    yield f"`{SUMS}`", f"digests of the files: `sha256sum -c {SUMS}`"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
