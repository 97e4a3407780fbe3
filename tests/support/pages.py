"""The pages of the docs: their blocks of code, and every command in them, including inline ones."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from follow import LEFT_OUT

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in ROOT.glob("docs/*.md")))
WALKTHROUGHS = (
    "docs/add-a-compiler.md",
    "docs/add-a-metric.md",
    "docs/bisect.md",
    "docs/deploy.md",
    "docs/onnx-files.md",
    "docs/reading-the-report.md",
    "docs/tutorial.md",
)
"""Pages that `tools/follow.py` follows, except blocks that say otherwise."""

BLOCK = re.compile(r"^((?:<!-- [^\n]* -->\n)*)```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
STEP = re.compile(r"^ *- run: (?!>)(.+)$", re.MULTILINE)
PROGRAMS = ("pytest ", "pytest-ngraph ", "python tools/", "python -m ", "pip install ", "tox -e ")
"""What an inline command begins with."""
SEPARATORS = {"&&", "||", ";", "|"}
LOOP = {"do", "done"}


class Block(NamedTuple):
    """A block of code.

    Attributes:
        page: the page that it is on.
        notes: the comments right above it.
        language: what it is marked as.
        text: its contents.
    """

    page: str
    notes: str
    language: str
    text: str


class Command(NamedTuple):
    """A program and its arguments, as the shell would split them.

    Attributes:
        page: the page that it is on.
        words: the program and its arguments.
        whole: it is in a block; a command within a sentence may leave out required arguments.
    """

    page: str
    words: tuple[str, ...]
    whole: bool = True

    def __str__(self) -> str:
        return f"{self.page}: {shlex.join(self.words)}"


def blocks(*languages: str) -> list[Block]:
    found = (Block(page, *match.groups()) for page in PAGES for match in BLOCK.finditer(_text(page)))
    return [block for block in found if block.language in languages]


def commands(program: str = "") -> list[Command]:
    """Return the commands in shell blocks, in steps of workflows and in inline code, each once.

    Blocks that `tools/follow.py` follows are left out.

    Args:
        program: only commands of this program.
    """
    found = dict.fromkeys(each for page in PAGES for each in (*_in_blocks(page), *_in_sentences(page)))
    return [command for command in found if not program or Path(command.words[0]).name == program]


def split(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the simple commands of a script, without comments, redirections and keywords of loops."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        tokens = iter(lexer)
        for token in tokens:
            if token in SEPARATORS:
                yield from _simple(words)
                words = []
            elif token == ">":
                next(tokens)
            else:
                words.append(token)
        yield from _simple(words)


def _simple(words: list[str]) -> Iterator[tuple[str, ...]]:
    rest = tuple(word for word in words if word not in LOOP)
    if rest and rest[0] != "for":
        yield rest


def _in_blocks(page: str) -> Iterator[Command]:
    for block in (Block(page, *match.groups()) for match in BLOCK.finditer(_text(page))):
        followed = page in WALKTHROUGHS and LEFT_OUT not in block.notes
        scripts = {"sh": [] if followed else [block.text], "yaml": STEP.findall(block.text)}.get(block.language, [])
        yield from (Command(page, words) for script in scripts for words in split(script))


def _in_sentences(page: str) -> Iterator[Command]:
    for code in INLINE.findall(BLOCK.sub("", _text(page))):
        if (text := " ".join(code.split())).startswith(PROGRAMS):
            yield from (Command(page, words, whole=False) for words in split(text))


def _text(page: str) -> str:
    return (ROOT / page).read_text()
