from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ngraph.report.markdown import LEFT, MOST_ROWS, RIGHT, code, escaped, fenced, folded, table


@given(st.text())
def test_escaped_text_reads_as_it_was_and_starts_nothing(text: str) -> None:
    shown = escaped(text)
    assert html.unescape(shown).replace("@\u200b", "@") == " ".join(text.split()).replace("@\u200b", "@")
    assert not set("\n`*[]<>|~$\\") & set(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a | b", "a &#124; b"),
        ("<img src=x>", "&#60;img src=x&#62;"),
        ("**no** [x](y)", "&#42;&#42;no&#42;&#42; &#91;x&#93;(y)"),
        ("two\nlines  ", "two lines"),
        ("swin_s3_tiny is __init__", "swin_s3_tiny is &#95;&#95;init&#95;&#95;"),
        ("&amp;", "&#38;amp;"),
        ("@torch.compile failed, ask me@home", "@&#8203;torch.compile failed, ask me@home"),
    ],
)
def test_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("swin_s3_tiny-openvino-b8", "`swin_s3_tiny-openvino-b8`"),
        ("<b>*x*", "`<b>*x*`"),
        ("a|b", "<code>a&#124;b</code>"),
        ("a`b", "<code>a&#96;b</code>"),
        ("nets\\a.onnx", "<code>nets&#92;a.onnx</code>"),
    ],
)
def test_code(text: str, shown: str) -> None:
    assert code(text) == shown


def test_a_table_leaves_out_what_is_empty() -> None:
    columns = {"case": LEFT, "interval": RIGHT, "reason": LEFT}
    assert table(columns, [("a", "", "x"), ("b", "", "")]) == [
        "| case | reason |",
        "| --- | --- |",
        "| a | x |",
        "| b |  |",
        "",
    ]


def test_a_table_ends_before_the_summary_is_too_large() -> None:
    lines = table({"case": LEFT}, [("a",)] * (MOST_ROWS + 2))
    assert lines.count("| a |") == MOST_ROWS
    assert lines[-2] == "... and 2 more."


def test_folded_and_fenced() -> None:
    assert folded("a < b", ["x", ""]) == ["<details><summary>a &lt; b</summary>", "", "x", "", "</details>", ""]
    assert fenced("pytest -k '```'")[0] == "````sh"
