"""TLS files that can't be used: a clear error, before anything listens."""

from __future__ import annotations

import errno
import logging
import os
from base64 import b64decode, b64encode
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from textwrap import wrap

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509 import load_pem_x509_certificate

from mqkit.testing.certificates import Authority
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.tls.certificate_clock import utc_now
from reference_broker.runtime.tls.config import TlsConfig
from reference_broker.runtime.tls.files import read_tls_files


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def config(authority: Authority) -> TlsConfig:
    files = authority.issue("server", "localhost")
    return TlsConfig(files.certificate, files.key, authority.path)


def complaint(config: TlsConfig) -> str:
    with pytest.raises(BadConfiguration) as refused:
        read_tls_files(config, utc_now())
    return str(refused.value)


def test_files_that_can_be_used(config: TlsConfig, caplog: pytest.LogCaptureFixture) -> None:
    now = utc_now()
    files = read_tls_files(config, now)
    assert now + timedelta(days=29) < files.certificate_expiries[0] < now + timedelta(days=31)
    assert files.authority_expiries[0] > now
    assert not caplog.records


@pytest.mark.parametrize("what", ["certificate", "key", "authority"])
def test_a_file_that_is_not_there(config: TlsConfig, what: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing.pem"
    assert f"{missing}: can't be read: No such file" in complaint(
        replace(config, **{what: missing})  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("what", ["certificate", "key", "authority"])
def test_a_file_that_is_not_pem(config: TlsConfig, what: str, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    other.write_text("-----BEGIN NOTHING-----\nc2VjcmV0\n-----END NOTHING-----\n")
    text = complaint(replace(config, **{what: other}))  # type: ignore[arg-type]
    assert text.startswith(f"TLS {'key' if what == 'key' else 'certificate'} {other}: not a ")
    assert "c2VjcmV0" not in text


P_256 = bytes.fromhex("06082a8648ce3d030107")
NO_CURVE = P_256[:-1] + b"\x7f"


def replaced(path: Path, old: bytes, new: bytes) -> None:
    """In the first block of the file, which is the only one then."""
    lines = path.read_text().splitlines()
    first = lines[: next(n for n, line in enumerate(lines) if line.startswith("-----END")) + 1]
    content = b64decode("".join(first[1:-1]))
    assert content.count(old) == 1
    body = b64encode(content.replace(old, new)).decode()
    path.write_text("\n".join((first[0], *wrap(body, 64), first[-1], "")))


@pytest.mark.parametrize("what", ["certificate", "key"])
def test_a_curve_that_nobody_knows(config: TlsConfig, what: str) -> None:
    path: Path = getattr(config, what)
    replaced(path, P_256, NO_CURVE)
    assert complaint(config).startswith(f"TLS {what} {path}: an algorithm or a curve that is not")


def test_a_point_that_is_on_no_curve(config: TlsConfig) -> None:
    own = load_pem_x509_certificate(config.certificate.read_bytes())
    point = own.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    replaced(config.certificate, point, point[:1] + bytes(len(point) - 1))
    assert complaint(config) == f"TLS certificate {config.certificate}: its public key is damaged"


class GoneAfterReading(type(Path())):  # type: ignore[misc]
    """A key that is being replaced: there when it is read, and away for a moment."""

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))


def test_a_key_that_goes_while_it_is_looked_at(config: TlsConfig) -> None:
    text = complaint(replace(config, key=GoneAfterReading(config.key)))
    assert text == f"TLS key {config.key}: can't be read: No such file or directory"


def test_the_key_of_another_certificate(config: TlsConfig, authority: Authority) -> None:
    other = authority.issue("other", "localhost")
    assert "not the key of the first certificate in" in complaint(replace(config, key=other.key))


def test_an_expired_certificate(authority: Authority, config: TlsConfig) -> None:
    authority.issue("server", "localhost", lifetime=timedelta(days=-1))
    assert "it expired on " in complaint(config)


def test_a_certificate_of_tomorrow(config: TlsConfig) -> None:
    with pytest.raises(BadConfiguration, match="it is not valid before "):
        read_tls_files(config, utc_now() - timedelta(days=400))


def encrypted(config: TlsConfig, password: bytes) -> None:
    key = load_pem_private_key(config.key.read_bytes(), None)
    config.key.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password))
    )


def test_an_encrypted_key(config: TlsConfig) -> None:
    encrypted(config, b"open sesame")
    assert "it is encrypted, and no password is given" in complaint(config)
    assert "or the password is wrong" in complaint(replace(config, key_password="hunter2"))
    read_tls_files(replace(config, key_password="open sesame"), utc_now())
    assert "hunter2" not in repr(replace(config, key_password="hunter2"))


def test_a_password_for_a_key_without_one(config: TlsConfig) -> None:
    assert "it is not encrypted" in complaint(replace(config, key_password="x"))


def test_a_key_that_everybody_can_read(config: TlsConfig, caplog: pytest.LogCaptureFixture) -> None:
    config.key.chmod(0o644)
    read_tls_files(config, utc_now())
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "every user of this machine can read it" in record.getMessage()
