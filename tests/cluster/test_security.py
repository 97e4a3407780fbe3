"""Addresses and certificates, as checked before anything connects."""

from __future__ import annotations

import shutil
import ssl
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest
from cluster.certificates import NAME, credentials_of

from pytest_ngraph.cluster import own_certificates
from pytest_ngraph.cluster.security import CLIENT, Credentials, endpoint, in_address, is_loopback, read_credentials
from pytest_ngraph.errors import UsageError


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_certificates, "others", list)


@pytest.mark.parametrize("people", [[], ["alice", "bob"]], ids=["nobody known", "others known"])
@pytest.mark.parametrize("typed", ["127.0.0.1", "localhost:99", "tls://[::1]"])
def test_on_this_machine_it_encrypts_by_itself(
    typed: str, people: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also where no others are known: a directory such as LDAP does not list its users."""
    monkeypatch.setattr(own_certificates, "others", lambda: people)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = endpoint(typed, None, part="head")
    assert found.address.startswith("tls://")
    assert found.security.require_encryption
    assert found.holder == "", "it is everybody's own"
    folder = own_certificates.folder()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    key = (folder / "localhost-key.pem").read_bytes()
    assert endpoint(typed, None, part="measure").encrypted
    assert (folder / "localhost-key.pem").read_bytes() == key
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    assert not endpoint("tcp://127.0.0.1", None, insecure=True).encrypted


def test_plain_text_is_refused_where_others_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_certificates, "others", lambda: ["alice", "bob"])
    with pytest.raises(UsageError, match=r"others use this machine \(alice, bob\).*Leave out tcp://.* --insecure"):
        endpoint("tcp://127.0.0.1", None)


def test_a_certificate_that_cannot_be_made_again_is_used_until_it_expires(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("pytest_ngraph.cluster.certs.CERTIFICATE_DAYS", 20)
    folder = own_certificates.folder()
    before = (folder / "localhost.pem").read_bytes()
    (folder / "ca-key.pem").unlink()
    assert endpoint("localhost", None).encrypted
    assert (folder / "localhost.pem").read_bytes() == before


def test_certificates_that_cannot_be_made_are_one_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"cannot be made in .*XDG_STATE_HOME.* write tcp://localhost"):
        endpoint("localhost", None)


def test_others_are_people_who_can_log_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    def user(name: str, uid: int, shell: str) -> SimpleNamespace:
        return SimpleNamespace(pw_name=name, pw_uid=uid, pw_shell=shell)

    known = [
        user("root", 0, "/bin/bash"), user("daemon", 1, "/usr/sbin/nologin"), user("me", 1000, "/bin/bash"),
        user("alice", 1001, "/bin/zsh"), user("locked", 1002, "/bin/false"), user("nobody", 65534, "/bin/sh"),
        user("CORP\\carol", 1_204_801_234, "/bin/bash"),
    ]  # fmt: skip
    monkeypatch.setattr("pwd.getpwall", lambda: known)
    monkeypatch.setattr("os.getuid", lambda: 1000)
    monkeypatch.setattr("sys.platform", "linux")
    assert own_certificates.others() == ["CORP\\carol", "alice"]
    on_macos = [
        user("root", 0, "/bin/sh"), user("nobody", -2, "/usr/bin/false"), user("_www", 70, "/usr/bin/false"),
        user("_service", 441, "/bin/sh"), user("anna", 501, "/bin/zsh"), user("bob", 502, "/bin/zsh"),
    ]  # fmt: skip
    monkeypatch.setattr("pwd.getpwall", lambda: on_macos)
    monkeypatch.setattr("os.getuid", lambda: 501)
    monkeypatch.setattr("sys.platform", "darwin")
    assert own_certificates.others() == ["bob"]


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("tcp://127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        ("tcp://localhost:99", "tcp://localhost:99"),
        ("tcp://[::1]:99", "tcp://[::1]:99"),
    ],
)
def test_this_machine_alone_needs_no_certificates_if_it_is_asked_for(typed: str, address: str) -> None:
    found = endpoint(typed, None)
    assert found.address == address
    assert not found.security.require_encryption


@pytest.mark.parametrize(
    "typed", ["tcp://10.0.0.7:8786", "10.0.0.7", "0.0.0.0", "tcp://[::]:8786", "no.such.host.invalid"]
)
def test_beyond_this_machine_plain_text_is_refused(typed: str) -> None:
    with pytest.raises(UsageError, match=r"whoever reaches it can run code .* give --insecure\."):
        endpoint(typed, None)
    with pytest.raises(UsageError, match=r"give --ngraph-insecure-cluster\."):
        endpoint(typed, None, spelling=CLIENT)
    assert endpoint(typed, None, insecure=True).address.startswith("tcp://")


def test_certificates_encrypt(authority: Path) -> None:
    for typed in ("head", "tls://head", "head:8786"):
        found = endpoint(typed, credentials_of(authority))
        assert (found.address, found.host, found.port) == ("tls://head:8786", "head", 8786)
        assert found.security.require_encryption
        assert found.holder == NAME


def test_how_connections_are_encrypted(authority: Path) -> None:
    """Host names are not checked: the role is."""
    security = endpoint("head", credentials_of(authority)).security
    for arguments in (security.get_connection_args("client"), security.get_listen_args("scheduler")):
        context: ssl.SSLContext = arguments["ssl_context"]
        assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
        assert context.verify_mode == ssl.CERT_REQUIRED
        assert not context.check_hostname


def test_certificates_and_address_have_to_fit(authority: Path) -> None:
    with pytest.raises(UsageError, match="give --ngraph-tls-ca, --ngraph-tls-cert and --ngraph-tls-key"):
        endpoint("tls://head", None, spelling=CLIENT)
    with pytest.raises(UsageError, match=r"takes no certificate\. Write tls://head:8786"):
        endpoint("tcp://head", credentials_of(authority))


@pytest.mark.parametrize(
    "typed", ["", "tls://", "http://head", "head:port", "head:99999", "tls://head/path", "tls://a@b"]
)
def test_an_invalid_address_is_refused(typed: str) -> None:
    with pytest.raises(UsageError, match="is not the address of a scheduler"):
        endpoint(typed, None, insecure=True)


def test_no_file_or_all_three(authority: Path) -> None:
    files = credentials_of(authority)
    assert read_credentials(None, None, None) is None
    assert read_credentials(str(files.ca), str(files.cert), str(files.key)) == files
    with pytest.raises(UsageError, match="also give --tls-cert, --tls-key"):
        read_credentials(str(files.ca), None, "")


def test_unusable_files_are_refused(authority: Path, foreign_authority: Path, tmp_path: Path) -> None:
    def read(files: Credentials) -> None:
        read_credentials(str(files.ca), str(files.cert), str(files.key))

    good, foreign = credentials_of(authority), credentials_of(foreign_authority)
    with pytest.raises(UsageError, match="there is no such file"):
        read(Credentials(ca=good.ca, cert=tmp_path / "none.pem", key=good.key))
    with pytest.raises(UsageError, match="do not fit together"):
        read(Credentials(ca=good.ca, cert=good.cert, key=foreign.key))
    with pytest.raises(UsageError, match="do not fit together"):
        read(Credentials(ca=good.key, cert=good.cert, key=good.key))
    shutil.copy(good.key, tmp_path / "key.pem")
    (tmp_path / "key.pem").chmod(0o640)
    with pytest.raises(UsageError, match="others can read the key"):
        read(Credentials(ca=good.ca, cert=good.cert, key=tmp_path / "key.pem"))


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("10.0.0.2", False),
        ("::", False),
        ("[::1]", True),
        ("[fd00::5]", False),
    ],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize(
    ("host", "written"), [("orin", "orin"), ("10.0.0.7", "10.0.0.7"), ("fd00::5", "[fd00::5]"), ("[::1]", "[::1]")]
)
def test_a_host_in_an_address(host: str, written: str) -> None:
    assert in_address(host) == written
