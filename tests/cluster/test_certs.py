from __future__ import annotations

import stat
from pathlib import Path

import pytest
from cryptography import x509

from pytest_ngraph.cluster import certs
from pytest_ngraph.errors import UsageError


def read(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_an_authority_is_made_once_and_its_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    written = certs.issue(folder, ["head", "10.0.0.7"])
    assert [path.name for path in written] == [
        "ca.pem", "ca-key.pem", "head.pem", "head-key.pem", "10.0.0.7.pem", "10.0.0.7-key.pem",
    ]  # fmt: skip
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in written if "key" in path.name)
    authority = read(folder / "ca.pem")
    assert [path.name for path in certs.issue(folder, ["orin"])] == ["orin.pem", "orin-key.pem"]
    read(folder / "orin.pem").verify_directly_issued_by(authority)


def test_a_certificate_names_its_host(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["head", "10.0.0.7"])
    names = [
        read(tmp_path / f"{name}.pem").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        for name in ("head", "10.0.0.7")
    ]
    assert names[0].get_values_for_type(x509.DNSName) == ["head"]
    assert [str(address) for address in names[1].get_values_for_type(x509.IPAddress)] == ["10.0.0.7"]


def test_a_certificate_issues_none_itself(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["head"])
    assert not read(tmp_path / "head.pem").extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_a_key_that_others_could_read_is_replaced_by_one_that_they_cannot(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["head"])
    key = tmp_path / "head-key.pem"
    before = key.read_bytes()
    key.chmod(0o644)
    certs.issue(tmp_path, ["head"])
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert key.read_bytes() != before


@pytest.mark.parametrize("name", ["", "../head", "a b", "ca", "ca-key"])
def test_an_invalid_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is not the name of a host or device"):
        certs.issue(tmp_path / "cluster", ["head", name])
    assert not (tmp_path / "cluster").exists()


def test_a_damaged_authority_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "ca-key.pem").write_text("nonsense")
    (tmp_path / "ca.pem").write_text("nonsense")
    with pytest.raises(UsageError, match="cannot read the authority"):
        certs.issue(tmp_path, ["head"])


def test_certificates_are_issued_where_the_authority_was_made(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["head"])
    authority = (tmp_path / "ca.pem").read_bytes()
    (tmp_path / "ca-key.pem").unlink()
    with pytest.raises(UsageError, match="Issue certificates where it was made"):
        certs.issue(tmp_path, ["orin"])
    assert (tmp_path / "ca.pem").read_bytes() == authority


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot write certificates into"):
        certs.issue(tmp_path / "file", ["head"])
