"""Engines of different versions in one cluster."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ngraph.cluster import connection
from pytest_ngraph.cluster.connection import connect
from pytest_ngraph.cluster.security import Endpoint, endpoint
from pytest_ngraph.cluster.versions import HERE, difference, in_answer
from pytest_ngraph.errors import UsageError

HEAD = endpoint("tcp://127.0.0.1:8786", None, insecure=True)
OTHER = "2023.1.0"
MISUNDERSTOOD = "Scheduler.identity() got an unexpected keyword argument 'n_workers'"


def test_only_versions_that_are_known_to_differ_are_named() -> None:
    assert difference({"the scheduler": HERE, "orin": ""}) == ""
    assert difference({"the scheduler": OTHER}) == f"distributed is {HERE} here and {OTHER} on the scheduler"


@pytest.mark.parametrize("packages", [{"distributed": "2024.8.0"}, [("distributed", "2024.8.0")]])
def test_the_version_is_read_from_an_answer(packages: Any) -> None:
    assert in_answer({"packages": packages}) == "2024.8.0"
    assert in_answer({}) == ""


@pytest.fixture
def misunderstood(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A scheduler of a version that the test gives, which does not understand this engine."""

    def of_version(version: str) -> None:
        async def asked(endpoint: Endpoint) -> str:
            return version

        def refuses(*arguments: object, **keywords: object) -> None:
            raise TypeError(MISUNDERSTOOD)

        monkeypatch.setattr(connection, "of_scheduler", asked)
        monkeypatch.setattr(connection, "Client", refuses)
        monkeypatch.setattr(connection, "probe", lambda endpoint, timeout_s: "127.0.0.1")

    return of_version


def test_a_scheduler_that_does_not_understand_the_client_is_one_message(misunderstood: Any) -> None:
    misunderstood(OTHER)
    with pytest.raises(UsageError, match=r"has distributed 2023\.1\.0, .* pip install distributed==2023"):
        connect(HEAD)


def test_an_error_of_equal_engines_is_not_blamed_on_their_versions(misunderstood: Any) -> None:
    misunderstood(HERE)
    with pytest.raises(TypeError):
        connect(HEAD)
