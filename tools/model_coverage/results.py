"""What was found, one line of JSON for each model, compiler and side. A run that was ended goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

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
    """A file of results. The last line of a key counts.

    Args:
        path: the file.
        again: outcomes that `has` takes for missing if they are of an earlier run.
    """

    def __init__(self, path: Path, again: Collection[Outcome] = ()) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._found = {result.key: result for result in (Result(**json.loads(line)) for line in lines)}
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
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")
