"""Fuzz the parsers with inputs that reach more and more of their code. Each may only succeed or raise a clear message.

    pip install atheris
    python tools/fuzz.py [--seconds=60] [TARGET...]

Each target runs in a process of its own, because the fuzzer ends its process. It starts from inputs as users write
them, continues with inputs that reached new lines, and ends when its seconds are over or an exception is raised that is
not a message for users. In that case the input is printed, and the exit status is 1. `tests/faults/test_parsing.py`
does the same in CI, without measuring coverage.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

SUPPORT = Path(__file__).parents[1] / "tests" / "support"
sys.path[:0] = [str(SUPPORT), str(SUPPORT / "made_up")]

INSIDE = "--inside"
SEEDS = {
    "thresholds": ["ase<0.5", "bsr:2%", "compile_s<10s if compiler=openvino", "speedup[b=8]>1.2 if workload=swin*"],
    "compilers": ["identity,openvino:streams=2", "tvm:trials=96,mine:Exact", "inductor:mode=default"],
    "messages": ['{"phase": "compile"}', '{"done": {"a": [1, 2]}}', '{"failed": {"kind": "raised", "message": "x"}}'],
    "devices": ['[xeon]\nkind = "cpu"\nthreads = 2\n', '[red]\npool = ["a", "b"]\nrequires = {memory = "8GiB"}\n'],
    "store": [],
    "baseline": [],
}
"""First inputs of each target. Where there are none, the store itself writes a journal."""
DONE = re.compile(r"cov: (\d+).*\n(?:.*\n)*?Done (\d+) runs")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"default: all ({', '.join(SEEDS)})")
    parser.add_argument("--seconds", type=int, default=60, help="seconds per target; default: %(default)s")
    asked = parser.parse_args(arguments)
    unknown = set(asked.targets) - set(SEEDS)
    if unknown:
        parser.error(f"unknown target {', '.join(sorted(unknown))}. Known: {', '.join(SEEDS)}.")
    survived = [fuzz(target, asked.seconds) for target in asked.targets or SEEDS]
    return 0 if all(survived) else 1


def fuzz(target: str, seconds: int) -> bool:
    """Fuzz one target and print the outcome. Return whether it survived."""
    with tempfile.TemporaryDirectory(prefix="ngraph-fuzz-") as folder:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        for number, seed in enumerate(seeds(target)):
            (corpus / str(number)).write_bytes(seed)
        options = [f"-max_total_time={seconds}", "-max_len=4096", "-timeout=20", f"-artifact_prefix={folder}/"]
        command = [sys.executable, __file__, INSIDE, target, *options, str(corpus)]
        ran = subprocess.run(
            command, env=os.environ | {"TMPDIR": folder}, capture_output=True, text=True, errors="replace", check=False
        )
        done = DONE.search(ran.stderr[ran.stderr.rfind("DONE") :])
        if ran.returncode == 0 and done:
            print(f"survived      {target}: {int(done[2]):,} inputs, {done[1]} branches reached")
            return True
        found = [path.read_bytes() for path in Path(folder).glob("*-*") if path.is_file()]
        print(f"NOT survived  {target}: {found or 'it did not run'}\n{ran.stdout[-3000:]}{ran.stderr[-1000:]}")
        return False


def seeds(target: str) -> list[bytes]:
    if SEEDS[target]:
        return [seed.encode() for seed in SEEDS[target]]
    from parsing import journal_of

    with tempfile.TemporaryDirectory() as folder:
        return [journal_of(Path(folder)).read_bytes()]


def inside(target: str, options: Sequence[str]) -> None:
    """Fuzz a target in this process; never returns."""
    import atheris

    with atheris.instrument_imports(include=["pytest_ngraph"]):
        from parsing import succeeds_or_explains

        parse = parser_of(target)

    def take(data: bytes) -> None:
        if not succeeds_or_explains(lambda: parse(data)):
            raise AssertionError("a message that says nothing")

    atheris.Setup([target, *options], take)
    atheris.Fuzz()


def parser_of(target: str) -> Callable[[bytes], object]:
    """Return the function that parses the bytes of a target."""
    from pytest_ngraph import gate, store
    from pytest_ngraph.case import split_compilers
    from pytest_ngraph.machine.devices import load_inventory
    from pytest_ngraph.plugin.options import parse_compiler
    from pytest_ngraph.store import baselines
    from pytest_ngraph.worker import protocol

    folder = Path(tempfile.mkdtemp(prefix="ngraph-fuzz-"))

    def text_of(data: bytes) -> str:
        return data.decode(errors="replace")

    def written(data: bytes, name: str) -> Path:
        (path := folder / name).write_bytes(data)
        return path

    def import_baseline(data: bytes) -> object:
        kept = baselines.import_from(written(data, "v1.jsonl"), folder / "kept", "v1")
        baselines.read(folder / "kept", "v1")
        baselines.remove(folder / "kept", "v1")
        return kept

    return {
        "thresholds": lambda data: gate.Threshold.parse(text_of(data)),
        "compilers": lambda data: [parse_compiler(part) for part in split_compilers(text_of(data))],
        "messages": protocol.parse,
        "devices": lambda data: [each.absent() for each in load_inventory(written(data, "devices.toml")).values()],
        "store": lambda data: store.read(written(data, "run.jsonl").parent, "run"),
        "baseline": import_baseline,
    }[target]


if __name__ == "__main__":
    if sys.argv[1:2] == [INSIDE]:
        inside(sys.argv[2], sys.argv[3:])
    sys.exit(main())
