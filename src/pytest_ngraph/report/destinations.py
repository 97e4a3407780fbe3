"""Where the summary for a pull request is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_ngraph.errors import UsageError
from pytest_ngraph.report.pull_request import page
from pytest_ngraph.report.result import RunResult

DATA_SUFFIX = ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Destinations:
    """Files that the summary is written to.

    Attributes:
        file: Markdown file; the data go beside it as JSON. None for neither.
        step_summary: file that GitHub shows for a step, which other commands of the step write to as well; None for
            none.
    """

    file: Path | None = None
    step_summary: Path | None = None

    def check(self) -> None:
        """Raise `UsageError` when the file could not be written: better before measuring than after.

        A step summary that cannot be written is reported at the end: the runner set it, not the user.
        """
        if self.file is None:
            return
        if self.file.suffix == DATA_SUFFIX:
            raise UsageError(
                f"--ngraph-summary={self.file}: this file is for the data, which are written beside the Markdown. Give "
                f"the file of the Markdown: {self.file.with_suffix('.md')}."
            )
        for path in (self.file, self.file.with_suffix(DATA_SUFFIX)):
            try:
                _try_writing(path)
            except OSError as error:
                raise UsageError(
                    f"--ngraph-summary={self.file}: cannot write {path}: {error.strerror}. "
                    f"Give a file in a folder that exists and can be written."
                ) from None

    def write(self, result: RunResult) -> list[str]:
        """Write the summary to each file. Return a line for each file that could not be written.

        What git or a file system has in other bytes than UTF-8 becomes question marks.
        """
        text = page(result)
        problems = []
        if self.file is not None:
            data = json.dumps(result.to_dict(), indent=2, allow_nan=False)
            problems += _written(self.file, lambda path: path.write_text(text, encoding="utf-8", errors="replace"))
            problems += _written(self.file.with_suffix(DATA_SUFFIX), lambda path: path.write_text(data + "\n"))
        if self.step_summary is not None:
            problems += _written(self.step_summary, lambda path: _append(path, text))
        return problems


def _try_writing(path: Path) -> None:
    existed = path.exists()
    _append(path, "")
    if not existed:
        path.unlink()


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(text)


def _written(path: Path, write: Callable[[Path], object]) -> list[str]:
    try:
        write(path)
    except OSError as error:
        return [f"The summary could not be written to {path}: {error.strerror}."]
    return []
