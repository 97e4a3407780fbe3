"""Follow the steps of a page of the docs, in an empty folder.

    python tools/follow.py docs/tutorial.md [--write]

Files are written and commands run in the order of the page, with the options in PYTEST_ADDOPTS if there are any. The
first line of a block names its file; `<!-- not followed -->` above a block leaves it out. `--write` puts the output of
the commands into the page.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LEFT_OUT = "<!-- not followed -->"
BLOCK = re.compile(r"((?:<!-- [^\n]* -->\n)*)```(\w+)\n(.*?)```\n", re.DOTALL)
GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "A. User"), ("EMAIL", "user@example.org"))
    },
}


class Ran(NamedTuple):
    """A command of the page.

    Attributes:
        command: the command.
        output: its whole output.
        shown: the part of the output that the page shows; None for nothing.
    """

    command: str
    output: str
    shown: str | None


class PageFails(Exception):
    """A command's exit status differs from the page's, or a block cannot be followed."""


def run(page: str, folder: Path) -> Iterator[Ran]:
    """Follow the page in a new project in the folder, with a cache of its own. Raise `PageFails`."""
    (project := folder / "project").mkdir()
    blocks = list(BLOCK.finditer(page))
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        language, text = block[2], block[3]
        if LEFT_OUT in block[1]:
            continue
        if language == "sh":
            notes = after[1] if after and after[2] == "text" else ""
            output = _output(text, project, wanted=1 if "<!-- exit 1 -->" in notes else 0)
            yield Ran(text, output, _shown(output, notes) if notes else None)
        elif language != "text":
            name = re.match(r"# (\S+)\n", text)
            if name is None:
                raise PageFails(f"a block of {language} does not begin with the name of its file")
            file = project / name[1]
            file.parent.mkdir(exist_ok=True)
            file.write_text(text[name.end() :])


def with_outputs(page: str, ran: list[Ran]) -> str:
    """Return the page with these outputs instead of its own. A text without a note is of no command here, and stays."""
    shown = iter([each.shown for each in ran if each.shown is not None])

    def replaced(block: re.Match[str]) -> str:
        return f"{block[1]}```text\n{next(shown)}```\n" if block[1] and block[2] == "text" else block[0]

    return BLOCK.sub(replaced, page)


def _output(command: str, project: Path, wanted: int) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["sh", "-e", "-c", command],
        cwd=project,
        env=os.environ | GIT | {"PATH": path, "COLUMNS": "100", "XDG_CACHE_HOME": str(project.parent / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ran.returncode != wanted:
        raise PageFails(f"{command}ended with {ran.returncode}, not with {wanted}:\n{ran.stdout}")
    return ran.stdout


def _shown(output: str, notes: str) -> str:
    """Return the output from the first line on that contains the text in the notes."""
    first = re.search(r'<!-- output: from "(.*)" -->', notes)
    lines = output.splitlines()
    if first:
        starts = [number for number, line in enumerate(lines) if first[1] in line]
        if not starts:
            raise PageFails(f"{first[1]!r} is not in the output:\n{output}")
        lines = lines[starts[0] :]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    page = asked.page.read_text()
    ran = []
    with tempfile.TemporaryDirectory(prefix="ngraph-docs-") as folder:
        for each in run(page, Path(folder)):
            print(f"$ {each.command}{each.output}")
            ran.append(each)
    if asked.write:
        asked.page.write_text(with_outputs(page, ran))


if __name__ == "__main__":
    main()
