from __future__ import annotations

import pytest

from pytest_ngraph.worker.protocol import Done, Failed, Message, PhaseBegun, Progressed, Refused, parse


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"phase": "compile"}', PhaseBegun("compile")),
        (b'{"progress": "3 of 4"}', Progressed("3 of 4")),
        (b'{"done": {"a": 1}}', Done({"a": 1})),
        (b'{"unsupported": "no"}', Refused("no")),
        (b'{"failed": {"kind": "raised", "message": "x"}}', Failed("raised", "x")),
        (b'{"done": {}, "read": {"/rules.json": "ab"}}', Done({}, {"/rules.json": "ab"})),
        (b'{"unsupported": "no", "read": {"/rules.json": "ab"}}', Refused("no", {"/rules.json": "ab"})),
        (b'{"done": {}, "read": {"/rules.json": 3}}', Done({})),
        (b'{"phase": "lunch"}', None),
        (b'{"done": []}', None),
        (b'{"failed": {"kind": "bored", "message": "x"}}', None),
        (b"3", None),
        (b"loading model ...", None),
        (b"", None),
    ],
)
def test_only_what_a_worker_says_is_a_message(line: bytes, message: Message | None) -> None:
    assert parse(line) == message
