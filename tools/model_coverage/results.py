"""What was found, one line of JSON for each model, compiler and side. A run that was ended goes on where it stopped."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

Outcome = Literal["agrees", "fails", "skipped"]
Side = Literal["ours", "bare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One model under one compiler.

    Attributes:
        family: family of the model.
        model: name of the model.
        compiler: name of the compiler, or `export` for `torch.export` alone.
        side: through pytest-ngraph, or in a bare script.
        outcome: compiled, ran and agreed with the reference; failed; or was skipped as unsupported.
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
    """A file of results. The last line of a key counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._found = {result.key: result for result in (Result(**json.loads(line)) for line in lines)}

    def __contains__(self, key: tuple[str, str, str, str]) -> bool:
        return key in self._found

    def all(self) -> list[Result]:
        return list(self._found.values())

    def add(self, result: Result) -> None:
        self._found[result.key] = result
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")
