"""What commands and runs say of a certificate that expires soon."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from cluster.certificates import credentials_of, options_for

from pytest_ngraph.cli import credentials, parser
from pytest_ngraph.cluster import certs
from pytest_ngraph.session.options import ClusterOptions


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A folder with a certificate for all roles that is valid for so many days."""
    monkeypatch.setattr(certs, "CERTIFICATE_DAYS", request.param)
    certs.issue(tmp_path, ["everyone"], ["head", "submit", "measure", "observe"])
    return tmp_path


@pytest.mark.parametrize(("folder", "warns"), [(29, True), (31, False)], indirect=["folder"])
def test_commands_and_runs_warn_of_a_certificate_that_expires_soon(
    folder: Path, warns: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    again = "pytest-ngraph cluster certs DIR --for everyone --role head submit measure observe"
    parsed = parser(["device"]).parse_args(["device", "list", "--scheduler=tls://head", *options_for(folder)])
    assert credentials.endpoint(parsed, parsed.scheduler, "observe").encrypted
    assert (again in capsys.readouterr().err) is warns
    files = credentials_of(folder)
    options = ClusterOptions(
        scheduler="tls://head", tls_ca=str(files.ca), tls_cert=str(files.cert), tls_key=str(files.key)
    )
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert options.endpoint.encrypted
    assert [again in str(each.message) for each in found] == [True] * warns
