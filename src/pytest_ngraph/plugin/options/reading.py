"""Read one option: from the command line, else from the ini file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.session.options import Axis, Value

Parsed = TypeVar("Parsed")
Default = TypeVar("Default")

ONE: dict[str, Any] = {"kind": "string"}
"""Keywords of `Declare` for an option with one value."""


class Declare(Protocol):
    """Adds an option and the ini key that it overrides to pytest's parser. Other keywords are argparse's."""

    def __call__(self, flag: str, ini: str, help_: str, *, kind: Any = "args", **keywords: Any) -> None: ...


def axis(
    config: pytest.Config,
    name: str,
    parse: Callable[[str], Value],
    split: Callable[[str], list[str]] = lambda text: text.split(","),
) -> Axis[Value]:
    """Return the values of `--NAME` and of its ini key, where spaces separate them as well, and TOML may list them."""

    def parsed(parts: Iterable[str]) -> tuple[Value, ...] | None:
        return tuple(dict.fromkeys(parse(part.strip()) for part in parts)) or None

    typed = (part for text in config.getoption(name) or () for part in split(text))
    ini = (part for text in config.getini(f"ngraph_{name}") or () for part in split(str(text)) if part.strip())
    return Axis(parsed(typed), parsed(ini))


def single(config: pytest.Config, name: str) -> str | None:
    """Return the value of `--ngraph-NAME`; None where it is not given.

    Raises `UsageError` for an empty value on the command line, which an unset variable leaves: whoever asks to compare,
    or to measure on a cluster, must not get a run that does not.
    """
    typed: str | None = config.getoption(f"ngraph_{name}")
    if typed is not None and not typed.strip(" ,"):
        raise UsageError(
            f"{_flag(name)}={typed}: it has no value. Give one (is a variable unset?), or leave the option out."
        )
    ini = config.getini(f"ngraph_{name}")
    if ini and not isinstance(ini, str):
        text = ",".join(map(str, ini))
        raise UsageError(
            f'ngraph_{name} = {ini}: a list is not allowed. Write it as one text: ngraph_{name} = "{text}".'
        )
    return typed or ini or None


def is_on(config: pytest.Config, name: str) -> bool:
    """Return whether `--ngraph-NAME`, or else its ini key, switches something on."""
    return bool(config.getoption(f"ngraph_{name}") or config.getini(f"ngraph_{name}"))


def named(config: pytest.Config, name: str) -> str:
    """Return the name that `--ngraph-NAME` gives; empty where it is not given."""
    return single(config, name) or ""


def path(config: pytest.Config, name: str) -> Path | None:
    """Return the path that `--ngraph-NAME` gives; None where it is not given.

    On the command line it is relative to the folder that pytest was started in, in the ini file to pytest's root.
    """
    text = single(config, name)
    if text is None:
        return None
    is_typed = bool(config.getoption(f"ngraph_{name}"))
    return resolved(_flag(name), text, config.invocation_params.dir if is_typed else config.rootpath)


def resolved(name: str, text: str, folder: Path) -> Path:
    """Return a path relative to that folder, unless it is absolute or starts with a home folder."""
    try:
        return folder / Path(text).expanduser()
    except RuntimeError:
        raise UsageError(f"{name}={text}: there is no such home folder. Give the whole path.") from None


def lines(config: pytest.Config, name: str) -> list[str]:
    """Return the values of the ini file, then those of the command line."""
    return [*map(str, config.getini(name) or ()), *(config.getoption(name) or ())]


def value(config: pytest.Config, name: str, parse: Callable[[str], Parsed], default: Default) -> Parsed | Default:
    """Return what `parse` makes of the value of `--ngraph-NAME`; the default where it is not given."""
    text = single(config, name)
    if text is None:
        return default
    try:
        return parse(text)
    except UsageError as error:
        raise UsageError(f"{_flag(name)}={text}: {error}") from None


def choice(config: pytest.Config, name: str, allowed: tuple[str, ...], default: str) -> str:
    """Return one of the allowed values."""
    chosen = single(config, name) or default
    if chosen not in allowed:
        raise UsageError.unknown(_flag(name), chosen, allowed)
    return chosen


def _flag(name: str) -> str:
    return f"--ngraph-{name.replace('_', '-')}"
