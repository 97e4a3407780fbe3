from __future__ import annotations

import datetime
import os
import re
import resource
import shutil
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from pytest_ngraph.cluster import certificate, certs
from pytest_ngraph.cluster.issued import INDEX
from pytest_ngraph.cluster.revocation import Revoked
from pytest_ngraph.cluster.roles import ROLES
from pytest_ngraph.errors import UsageError


def read(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_an_authority_is_made_once_and_its_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    written = certs.issue(folder, ["head", "10.0.0.7"], ["measure"])
    assert [path.name for path in written] == [
        "ca.pem", "ca-key.pem", "head.pem", "head-key.pem", "10.0.0.7.pem", "10.0.0.7-key.pem",
    ]  # fmt: skip
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in written if "key" in path.name)
    authority = read(folder / "ca.pem")
    assert [path.name for path in certs.issue(folder, ["orin"], ["measure"])] == ["orin.pem", "orin-key.pem"]
    read(folder / "orin.pem").verify_directly_issued_by(authority)


def test_a_certificate_names_its_host(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["head", "10.0.0.7"], ["measure"])
    names = [
        read(tmp_path / f"{name}.pem").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        for name in ("head", "10.0.0.7")
    ]
    assert names[0].get_values_for_type(x509.DNSName) == ["head"]
    assert [str(address) for address in names[1].get_values_for_type(x509.IPAddress)] == ["10.0.0.7"]


def test_a_certificate_issues_none_itself(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["head"], ["measure"])
    assert not read(tmp_path / "head.pem").extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_a_key_that_others_could_read_is_replaced_by_one_that_they_cannot(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["head"], ["measure"])
    key = tmp_path / "head-key.pem"
    before = key.read_bytes()
    key.chmod(0o644)
    certs.issue(tmp_path, ["head"], ["measure"])
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert key.read_bytes() != before


@pytest.mark.parametrize("name", ["", "../head", "a b", "ca", "ca-key", "crl"])
def test_an_invalid_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is not the name of a host or device"):
        certs.issue(tmp_path / "cluster", ["head", name], ["measure"])
    assert not (tmp_path / "cluster").exists()


def test_a_damaged_authority_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "ca-key.pem").write_text("nonsense")
    (tmp_path / "ca.pem").write_text("nonsense")
    with pytest.raises(UsageError, match="cannot read the authority"):
        certs.issue(tmp_path, ["head"], ["measure"])


def test_certificates_are_issued_where_the_authority_was_made(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["head"], ["measure"])
    authority = (tmp_path / "ca.pem").read_bytes()
    (tmp_path / "ca-key.pem").unlink()
    with pytest.raises(UsageError, match="Issue certificates where it was made"):
        certs.issue(tmp_path, ["orin"], ["measure"])
    assert (tmp_path / "ca.pem").read_bytes() == authority


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot write certificates into"):
        certs.issue(tmp_path / "file", ["head"], ["measure"])


def test_a_certificate_shows_its_roles(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["laptop"], ["head", "submit"])
    assert certificate.roles(tmp_path / "laptop.pem") == ["head", "submit"]
    assert "OU=submit" in read(tmp_path / "laptop.pem").subject.rfc4514_string()


def test_a_passphrase_protects_the_key_that_issues_certificates(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["head"], ["head"], b"open sesame")
    assert certs.is_encrypted(tmp_path)
    assert b"ENCRYPTED" not in (tmp_path / "head-key.pem").read_bytes()
    assert len(certs.issue(tmp_path, ["orin"], ["measure"], b"open sesame")) == 2
    for wrong in (b"shut", None):
        with pytest.raises(UsageError, match=r"Is the passphrase right\?"):
            certs.issue(tmp_path, ["orin"], ["measure"], wrong)


def test_revoked_certificates_stay_revoked(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["one", "two", "three"], ["measure"])
    before = [read(tmp_path / f"{name}.pem").serial_number for name in ("one", "two", "three")]
    known = Revoked(tmp_path / certs.CA)
    assert not known.has(before[0])
    certs.revoke(tmp_path, ["one"])
    certs.issue(tmp_path, ["one"], ["measure"])
    certs.revoke(tmp_path, ["two"])
    assert [known.has(serial) for serial in before] == [True, True, False]
    assert not known.has(read(tmp_path / "one.pem").serial_number)


def test_every_certificate_of_a_name_is_revoked(tmp_path: Path) -> None:
    def issued() -> int:
        certs.issue(tmp_path, ["orin"], ["measure"])
        return read(tmp_path / "orin.pem").serial_number

    leaked, newest = issued(), issued()
    certs.issue(tmp_path, ["nano"], ["measure"])
    revoked = certs.revoke(tmp_path, ["orin"])
    assert [each.serial for each in revoked.certificates] == [leaked, newest]
    assert re.fullmatch(f"orin: serial {leaked:X}, valid until [0-9-]{{10}}", str(revoked.certificates[0]))
    known = Revoked(tmp_path / certs.CA)
    assert known.has(leaked)
    assert known.has(newest)
    assert not known.has(read(tmp_path / "nano.pem").serial_number)


def test_a_certificate_that_an_earlier_version_issued_is_revoked_too(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["orin"], ["measure"])
    leaked = read(tmp_path / "orin.pem").serial_number
    (tmp_path / INDEX).unlink()
    certs.issue(tmp_path, ["orin"], ["measure"])
    (tmp_path / "orin.pem").unlink()  # moved to its machine
    certs.revoke(tmp_path, ["orin"])
    assert Revoked(tmp_path / certs.CA).has(leaked)


def test_a_certificate_that_has_expired_need_not_be_revoked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certs, "CLOCKS_DIFFER", datetime.timedelta(days=9))
    monkeypatch.setattr(certs, "CERTIFICATE_DAYS", -1)
    certs.issue(tmp_path, ["orin"], ["measure"])
    monkeypatch.undo()
    certs.issue(tmp_path, ["orin"], ["measure"])
    assert [each.serial for each in certs.revoke(tmp_path, ["orin"]).certificates] == [
        read(tmp_path / "orin.pem").serial_number
    ]


def test_on_a_full_disk_nothing_is_issued_and_the_index_stays_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certs.issue(tmp_path, ["orin"], ["measure"])
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, text: write(file, text[: len(text) // 2]))
    with pytest.raises(UsageError, match=r"cannot write certificates into .*No space left"):
        certs.issue(tmp_path, ["nano"], ["measure"])
    monkeypatch.undo()
    assert not (tmp_path / "nano.pem").exists()
    certs.issue(tmp_path, ["nano"], ["measure"])
    assert [len(certs.revoke(tmp_path, [name]).certificates) for name in ("orin", "nano")] == [1, 1]


def test_on_a_full_disk_the_certificate_and_key_of_before_are_still_there(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["orin"], ["measure"])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != INDEX}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400, limits[1]))  # there is room for a line of the index
    try:
        with pytest.raises(UsageError, match="cannot write certificates into"):
            certs.issue(tmp_path, ["orin"], ["measure"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != INDEX} == before


def test_no_certificate_is_written_where_a_key_is(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["orin"], ["measure"])
    key = (tmp_path / "orin-key.pem").read_bytes()
    with pytest.raises(UsageError, match=r"'orin-key' cannot have a certificate: .*of the key of 'orin'"):
        certs.issue(tmp_path, ["nano", "orin-key"], ["measure"])
    assert (tmp_path / "orin-key.pem").read_bytes() == key
    assert not (tmp_path / "nano.pem").exists()


def test_how_long_certificates_are_valid_and_what_keys_they_have(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["orin"], ["measure"])
    days = {}
    for name in ("ca", "orin"):
        found = read(tmp_path / f"{name}.pem")
        days[name] = (found.not_valid_after_utc - datetime.datetime.now(datetime.timezone.utc)).days + 1
        key = found.public_key()
        assert isinstance(key, ec.EllipticCurvePublicKey)
        assert key.curve.name == "secp256r1", "which is P-256"
    assert days == {"ca": 10 * 365, "orin": 2 * 365}


def test_an_index_that_cannot_be_read_is_one_message(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["orin"], ["measure"])
    with (tmp_path / INDEX).open("a") as index:
        index.write('{"name": "orin", "ser')
    with pytest.raises(UsageError, match=r"line 2 of .*issued\.jsonl cannot be read .* Mend it, or remove it"):
        certs.revoke(tmp_path, ["orin"])


def test_a_list_that_another_authority_signed_is_refused(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        certs.issue(folder, ["one"], ["measure"])
    shutil.copy(certs.revoke(theirs, ["one"]).path, ours)
    with pytest.raises(UsageError, match="is not signed by the authority"):
        Revoked(ours / certs.CA)
    with pytest.raises(UsageError, match="two has no certificate in"):
        certs.revoke(theirs, ["two"])


def test_a_certificate_that_expires_is_announced_then_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def issued_for(days: int) -> Path:
        monkeypatch.setattr(certs, "CERTIFICATE_DAYS", days)
        certs.issue(tmp_path, ["head"], ["head"])
        return tmp_path / "head.pem"

    assert certificate.expiry_warning(issued_for(31)) == ""
    soon = certificate.expiry_warning(issued_for(29))
    assert re.search(r"expires on .*, in 28 days\. .*restart what uses it: .*--for head --role head", soon)
    monkeypatch.setattr(certs, "CLOCKS_DIFFER", datetime.timedelta(days=9))
    with pytest.raises(UsageError, match=r"expired on .*restart what uses it.*--for head --role head"):
        certificate.check(issued_for(-1), "head")


@pytest.mark.parametrize(("role", "parts"), [
    ("head", {"head"}), ("submit", {"submit", "observe"}), ("measure", {"measure"}), ("observe", {"observe"}),
])  # fmt: skip
def test_a_certificate_is_for_its_roles_alone(authority: Path, role: str, parts: set[str]) -> None:
    for part in ROLES:
        if part in parts:
            certificate.check(authority / f"{role}.pem", part)
        else:
            with pytest.raises(UsageError, match=rf"is for {role}, but who .* needs .*--role {part}"):
                certificate.check(authority / f"{role}.pem", part)


def test_a_certificate_without_a_role_is_issued_again(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["old"], [])
    with pytest.raises(UsageError, match="names no role, but who is a device needs measure"):
        certificate.check(tmp_path / "old.pem", "measure")
