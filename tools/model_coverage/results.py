"""What was found, one line of JSON for each model. A run that was ended goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from model_coverage.entries import Entry
from pytest_ngraph.system.files import write_whole

Outcome = Literal["agrees", "fails", "skipped", "stopped"]
Side = Literal["ours", "bare"]
EXPORT = "export"
"""`torch.export` alone, in the place of a compiler."""
READ_PROGRAM = ("onnxruntime", "openvino", "tvm")
"""Compilers that start from the exported program: where one of these runs, the model can be exported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One model under one compiler.

    Attributes:
        family: family of the model.
        model: name of the model.
        compiler: name of the compiler, or `EXPORT`.
        side: through pytest-ngraph, or in a bare script.
        outcome: compiled, ran and agreed with the reference; failed; was skipped as unsupported; or was stopped at its
            limit of time or memory.
        reason: the first line of the error.
        seconds: how long it took; of ours, all compilers together.
    """

    family: str
    model: str
    compiler: str
    side: Side
    outcome: Outcome
    reason: str = ""
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.family, self.model, self.compiler, self.side


class Results:
    """A folder with one file for each family, and in it one line of JSON for each model.

    Every line has the results of a model under all compilers, so that the files are read and compared line by line.

    Args:
        folder: the folder.
        again: outcomes that `has` takes for missing if they are of an earlier run.
    """

    def __init__(self, folder: Path, again: Collection[Outcome] = ()) -> None:
        self._folder = folder
        files = sorted(folder.glob("*.jsonl"))
        every = [result for file in files for line in file.read_text().splitlines() for result in _parsed(line)]
        self._found = {result.key: result for result in every}
        self._again = {key for key, result in self._found.items() if result.outcome in again}

    def has(self, family: str, model: str, compiler: str, side: Side) -> bool:
        key = family, model, compiler, side
        return key in self._found and key not in self._again

    def agrees(self, family: str, model: str, compiler: str) -> bool:
        """Return whether the model runs under a compiler through pytest-ngraph."""
        found = self._found.get((family, model, compiler, "ours"))
        return found is not None and found.outcome == "agrees"

    def all(self) -> list[Result]:
        return list(self._found.values())

    def add(self, result: Result) -> None:
        self._found[result.key] = result
        self._again.discard(result.key)
        by_model: dict[str, list[Result]] = {}
        for each in self._found.values():
            if each.family == result.family:
                by_model.setdefault(each.model, []).append(each)
        self._folder.mkdir(parents=True, exist_ok=True)
        lines = (_line(by_model[model]) + "\n" for model in sorted(by_model))
        write_whole(self._folder / f"{result.family}.jsonl", "".join(lines).encode())


def without_folder(result: Result, entry: Entry) -> Result:
    """Return the result with a file by its name alone: where this machine keeps it is nobody's concern."""
    if entry.family != "onnx":
        return result
    return replace(result, reason=result.reason.replace(entry.workload, Path(entry.workload).name))


def _line(results: Sequence[Result]) -> str:
    """Return the results of one model: `{"model": "gpt2", "family": ..., "ours": {"tvm": ["agrees", "", 9.1]}}`."""
    data: dict[str, Any] = {"model": results[0].model, "family": results[0].family}
    for each in results:
        data.setdefault(each.side, {})[each.compiler] = [each.outcome, each.reason, each.seconds]
    return json.dumps(data)


def _parsed(line: str) -> Iterator[Result]:
    data = json.loads(line)
    for side in get_args(Side):
        for compiler, (outcome, reason, seconds) in data.get(side, {}).items():
            yield Result(
                family=data["family"],
                model=data["model"],
                compiler=compiler,
                side=side,
                outcome=outcome,
                reason=reason,
                seconds=seconds,
            )
