"""`-k "seq_len=128"` selects by a size of the user's own, as the id of a test names it.

pytest refuses `=` in `-k`. So each `name=number` of the expression becomes the keyword `name:number:`, and every test
whose case has that size has the same keyword. Unlike parts of an id, it is exact: `seq_len=12` does not select 128.
"""

from __future__ import annotations

import re

import pytest

from pytest_ngraph.plugin.items import case_of

_SIZE = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\s*=\s*([0-9]+)(?![\w.])")


def translate(config: pytest.Config) -> None:
    """Make the sizes in `-k` readable for pytest."""
    if config.option.keyword:
        config.option.keyword = _SIZE.sub(r"\1:\2:", config.option.keyword)


def add(item: pytest.Item) -> None:
    """Give a collected test a keyword for each size of the user's own."""
    case = case_of(item)
    if case is not None:
        item.extra_keyword_matches.update(f"{name}:{size}:" for name, size in case.sizes)
