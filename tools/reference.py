"""Write the tables of the docs that come from the code, between their markers.

python tools/reference.py          # rewrite them
python tools/reference.py --check  # exit 1 when one is out of date
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest_ngraph
from pytest_ngraph import compilers
from pytest_ngraph.cli import parser
from pytest_ngraph.metrics import DEFINITIONS
from pytest_ngraph.plugin import fixtures, hookspecs, marks, options

DOCS = Path(__file__).parents[1] / "docs"


class Collector:
    """Takes the place of pytest's parser and records the declarations."""

    def __init__(self) -> None:
        self.options: list[tuple[str, str, str]] = []
        self.ini: list[tuple[str, str]] = []

    def getgroup(self, name: str, description: str) -> Collector:
        del name, description
        return self

    def addoption(self, flag: str, *, help: str, metavar: str = "", **_: Any) -> None:  # noqa: A002 (pytest's name)
        text, __, ini = help.replace("%%", "%").rpartition(" (ini: ")
        self.options.append((f"{flag}={metavar}" if metavar else flag, ini.rstrip(")"), text))

    def addini(self, name: str, help: str, **_: Any) -> None:  # noqa: A002 (pytest's name)
        self.ini.append((name, help))


def options_table() -> str:
    declared = Collector()
    options.declare(declared)  # type: ignore[arg-type]  # has the methods that are called
    rows = [f"| `{flag.replace('|', chr(92) + '|')}` | `{ini}` | {text} |" for flag, ini, text in declared.options]
    named = {ini for _, ini, _ in declared.options}
    rows += [f"| | `{name}` | {text} |" for name, text in declared.ini if name not in named]
    return "\n".join(["| option | ini key | meaning |", "| --- | --- | --- |", *rows])


def commands_table() -> str:
    rows = [
        f"| `{' '.join([name, *_positionals(each)])}` | {help_} | {', '.join(_long_options(each))} |"
        for name, help_, each in _commands("", "", parser())
    ]
    return "\n".join(["| command | what it does | options |", "| --- | --- | --- |", *rows])


def _commands(name: str, help_: str, of: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield each command that can be given, with its help and its parser."""
    nested = [each for each in of._actions if isinstance(each, argparse._SubParsersAction)]
    if of.get_default("run") is not None:
        yield name, help_, of
    for action in nested:
        helps = {each.dest: each.help or "" for each in action._choices_actions}
        for choice, chosen in action.choices.items():
            yield from _commands(f"{name} {choice}".strip(), helps[choice], chosen)


def _positionals(of: argparse.ArgumentParser) -> Iterator[str]:
    shapes = {"?": "[{}]", "*": "[{}...]", "+": "{}..."}
    for action in of._get_positional_actions():
        if not isinstance(action, argparse._SubParsersAction):
            name = "\\|".join(action.choices or [str(action.metavar or action.dest.upper())])
            yield shapes.get(str(action.nargs), "{}").format(name)
    if rest := getattr(of, "rest", ""):
        yield f"-- {rest.upper()}..."


def _long_options(of: argparse.ArgumentParser) -> Iterator[str]:
    for action in of._get_optional_actions():
        if "--help" not in action.option_strings:
            yield f"`{action.option_strings[-1]}`"


def metrics_table() -> str:
    rows = [
        f"| `{d.name}` | {d.extent} | {d.unit} | {d.better} | {d.formula.replace('|', chr(92) + '|')} "
        f"| {d.change or ''} | {d.source} |"
        for d in DEFINITIONS.values()
    ]
    return "\n".join(
        [
            "| metric | of a | unit | better | formula | against a base | source |",
            "| --- | --- | --- | --- | --- | --- | --- |",
            *rows,
        ]
    )


def compilers_table() -> str:
    rows = []
    for name in compilers.names():
        compiler = compilers.resolve(name)
        objectives = getattr(compiler, "objectives", ("latency",))
        rows.append(f"| `{name}` | {', '.join(compiler.kinds)} | {', '.join(objectives)} |")
    return "\n".join(["| compiler | devices | objectives |", "| --- | --- | --- |", *rows])


def compiler_options_table() -> str:
    """Return every option of every compiler. Its meaning is in the `Attributes:` of the class's docstring."""
    rows = []
    for name in compilers.names():
        kind = type(compilers.resolve(name))
        fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]  # dataclasses all
        if not fields:
            continue
        types = get_type_hints(kind)
        paragraphs = inspect.cleandoc(kind.__doc__ or "").split("\n\n")
        section = next((each for each in paragraphs if each.startswith("Attributes:")), paragraphs[0])
        parts = re.split(rf"\b({'|'.join(fields)}): ", section)
        meanings = {option: " ".join(text.split()) for option, text in zip(parts[1::2], parts[2::2], strict=True)}
        rows += [
            f"| `{name}:{option}=` | `{_as_typed(field.default)}` | {_allowed(types[option])} | {meanings[option]} |"
            for option, field in fields.items()
        ]
    return "\n".join(["| option | default | allowed | meaning |", "| --- | --- | --- | --- |", *rows])


def _allowed(kind: Any) -> str:
    if kind is bool:
        return "`true`, `false`"
    return ", ".join(f"`{value}`" for value in get_args(kind)) or "a whole number"


def _as_typed(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def marks_table() -> str:
    registered = (marker.partition(": ") for marker in marks.MARKERS)
    rows = [f"| `@pytest.mark.{signature}` | {meaning} |" for signature, _, meaning in registered]
    return "\n".join(["| mark | what it does |", "| --- | --- |", *rows])


def fixtures_table() -> str:
    """Return the table of fixtures: the functions in that module that pytest wraps."""
    declared = {name: inspect.unwrap(each) for name, each in vars(fixtures).items() if hasattr(each, "__wrapped__")}
    rows = [
        f"| `{name}` | `{_given(function)}` | {_paragraphs(getattr(fixtures, name))[0]} |"
        for name, function in declared.items()
    ]
    return "\n".join(["| fixture | type | gives |", "| --- | --- | --- |", *rows])


def hooks_table() -> str:
    declared = {name: each for name, each in vars(hookspecs).items() if name.startswith("pytest_ngraph")}
    rows = [
        f"| `{name}({', '.join(inspect.signature(each).parameters)})` | {_paragraphs(each)[0]} |"
        for name, each in declared.items()
    ]
    return "\n".join(["| hook | when, and what for |", "| --- | --- |", *rows])


def interface_table() -> str:
    rows = [f"| `{name}` | {_meaning(getattr(pytest_ngraph, name))} |" for name in pytest_ngraph.__all__]
    return "\n".join(["| name | what it is |", "| --- | --- |", *rows])


def _given(function: Any) -> str:
    """Return the type of a fixture's value: for a generator, of what it yields."""
    annotation = str(function.__annotations__["return"])
    yielded = re.fullmatch(r"Iterator\[(.*)\]", annotation)
    return yielded[1] if yielded else annotation


def _meaning(named: Any) -> str:
    """Return the first sentence of a docstring; for an alias, the type that it stands for."""
    if isinstance(named, type) and named.__module__ == "builtins":
        return f"`{named.__name__}`"
    if isinstance(named, type) or inspect.ismodule(named) or inspect.isfunction(named):
        return re.split(r"(?<=[.:])\s", _paragraphs(named)[0])[0].rstrip(":.") + "."
    return f"`{str(named).replace('typing.', '').replace('|', chr(92) + '|')}`"


def _paragraphs(documented: Any) -> list[str]:
    return [" ".join(each.split()) for each in inspect.cleandoc(documented.__doc__).split("\n\n")]


TABLES = {
    "compilers": ("compilers.md", compilers_table),
    "compiler options": ("compilers.md", compiler_options_table),
    "commands": ("commands.md", commands_table),
    "options": ("options.md", options_table),
    "marks": ("options.md", marks_table),
    "fixtures": ("options.md", fixtures_table),
    "hooks": ("options.md", hooks_table),
    "interface": ("options.md", interface_table),
    "metrics": ("metrics.md", metrics_table),
}


def _literal(text: str) -> str:
    """Return the text escaped, as a replacement for `re`."""
    return text.replace("\\", r"\\")


def outdated(*, write: bool) -> list[str]:
    """Return the pages with a table that differs from the code. With `write`, rewrite these tables."""
    found = []
    for name, (page, table) in TABLES.items():
        path = DOCS / page
        text = path.read_text()
        marked = re.compile(rf"(<!-- {name}: from the code -->\n).*?(<!-- end -->)", re.DOTALL)
        if not marked.search(text):
            sys.exit(f"{page} has no section <!-- {name}: from the code -->")
        fresh = marked.sub(rf"\g<1>{_literal(table())}\n\g<2>", text)
        if fresh != text:
            found.append(page)
            if write:
                path.write_text(fresh)
    return found


if __name__ == "__main__":
    own = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    own.add_argument("--check", action="store_true")
    check = own.parse_args().check
    pages = outdated(write=not check)
    print("\n".join(f"{page}: {'out of date' if check else 'rewritten'}" for page in pages) or "up to date")
    sys.exit(1 if check and pages else 0)
