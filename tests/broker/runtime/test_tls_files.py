"""TLS files that can't be used: a clear error, before anything listens."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from mqkit.testing.certificates import Authority
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.tls_config import TlsConfig
from reference_broker.runtime.tls_files import read_tls_files, utc_now


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
