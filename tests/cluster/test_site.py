"""A cluster as a session sees it, over a connection that is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from pytest_ngraph.cluster.presence import Present
from pytest_ngraph.cluster.security import Endpoint
from pytest_ngraph.cluster.site import Cluster
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine import environment, this_machine


class Broken:
    """A link on which a device is seen, and then no more."""

    address = "tcp://head:8786"

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    def present(self) -> list[Present]:
        return [
            Present(
                name="orin-1",
                pool="orin",
                address="tcp://orin",
                state="free",
                machine=this_machine(),
                environment=environment(),
                compilers={},
            )
        ]

    def run(self, *arguments: Any, **keywords: Any) -> Any:
        raise ConnectionError("no connection to tcp://head:8786")


def test_a_device_that_does_not_answer_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.cluster.site.Link", Broken)
    monkeypatch.setattr("pytest_ngraph.cluster.quiet.settle", lambda: None)
    cluster = Cluster(cast("Endpoint", None), tmp_path)
    host = cluster.host("orin")
    with pytest.raises(
        UsageError, match=r"device orin-1 does not answer \(ConnectionError: no connection .* device list"
    ):
        host.is_importable("no_such_library_here")
