"""`-k "seq_len=128"` selects by a size or an argument of the model, exactly: `batch_size=1` does not select 16.

pytest refuses `=` in `-k`. So each `name=value` of the expression becomes the keyword `:name:value:`, and every test
whose case has that value has the same keyword. Colons stand at both ends because pytest also finds parts of a keyword.
Parts of an id, such as `b1`, select whatever contains them.
"""

from __future__ import annotations

import re
import sys

import pytest

from pytest_ngraph.plugin.items import case_of

_VALUE = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\s*=\s*([\w.+-]+)")


def translate(config: pytest.Config) -> None:
    """Make the values in `-k` readable for pytest. Without `-k`, no test needs a keyword, and none is asked."""
    if config.option.keyword:
        config.option.keyword = _VALUE.sub(r":\1:\2:", config.option.keyword)
        config.pluginmanager.register(sys.modules[__name__], "ngraph_keywords")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give a collected test a keyword for each size and each argument of its model."""
    case = case_of(item)
    if case is not None:
        values = (("batch_size", case.batch_size), *case.named_sizes.items(), *case.model_args)
        item.extra_keyword_matches.update(f":{name}:{value}:" for name, value in values)
