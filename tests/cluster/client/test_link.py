"""What a client makes of the answers of devices to a question."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pytest_ngraph.cluster.answers import as_text, failure
from pytest_ngraph.cluster.client.link import Link
from pytest_ngraph.errors import NgraphError, StoreError


def test_a_device_that_fails_hides_no_other() -> None:
    responses = {
        "a": {"result": as_text({"answer": 7})},
        "b": {"result": as_text(failure(StoreError("disk full")))},
        "c": {"result": b"a pickle"},
        "d": {"result": as_text({"answer": None})},
    }
    link = Link.__new__(Link)
    client: Any = SimpleNamespace(status="running", sync=lambda *arguments, **keywords: responses)
    link._client = client
    results = link.run(print, on=list(responses))
    failed = results.pop("b")
    assert isinstance(failed, NgraphError)
    assert str(failed) == "disk full"
    assert results == {"a": 7, "d": None}
