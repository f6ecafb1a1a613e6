"""TLS settings that follow their files."""

from __future__ import annotations

import os
import ssl
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from mqkit.testing.certificates import Authority
from reference_broker.errors import BadConfiguration
from reference_broker.runtime.tls.certificate_clock import utc_now
from reference_broker.runtime.tls.config import TlsConfig, TlsVersion, Verify
from reference_broker.runtime.tls.contexts import TlsContexts


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def config(authority: Authority) -> TlsConfig:
    files = authority.issue("server", "localhost")
    return TlsConfig(files.certificate, files.key, authority.path)


@pytest.mark.parametrize(
    ("verify", "mode"),
    [
        (Verify.NONE, ssl.CERT_NONE),
        (Verify.PEER, ssl.CERT_OPTIONAL),
        (Verify.REQUIRED, ssl.CERT_REQUIRED),
    ],
)
def test_whom_is_asked_for_a_certificate(
    config: TlsConfig, verify: Verify, mode: ssl.VerifyMode
) -> None:
    contexts = TlsContexts(replace(config, verify=verify))
    assert contexts.for_amqp().verify_mode is mode
    assert contexts.for_https().verify_mode is ssl.CERT_NONE


def test_verification_against_nothing_is_refused(config: TlsConfig) -> None:
    with pytest.raises(BadConfiguration, match="needs the authority"):
        TlsContexts(replace(config, verify=Verify.PEER, authority=None))


@pytest.mark.parametrize(
    ("oldest", "version"),
    [
        (TlsVersion.TLS_1_2, ssl.TLSVersion.TLSv1_2),
        (TlsVersion.TLS_1_3, ssl.TLSVersion.TLSv1_3),
    ],
)
def test_old_versions_are_not_spoken(
    config: TlsConfig, oldest: TlsVersion, version: ssl.TLSVersion
) -> None:
    assert TlsContexts(replace(config, oldest=oldest)).for_amqp().minimum_version is version


def test_files_that_stay_keep_their_settings(config: TlsConfig) -> None:
    contexts = TlsContexts(config)
    assert contexts.for_amqp() is contexts.for_amqp()


def test_renewed_files_are_taken(config: TlsConfig, authority: Authority) -> None:
    contexts = TlsContexts(config)
    before, expiries = contexts.for_amqp(), contexts.files
    authority.issue("server", "localhost")
    assert contexts.for_amqp() is not before
    assert contexts.files is not expiries


def test_half_of_a_renewal_is_reported_once_and_the_rest_is_taken(
    config: TlsConfig, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    contexts = TlsContexts(config)
    before = contexts.for_amqp()
    other = authority.issue("other", "localhost")
    config.certificate.write_bytes(other.certificate.read_bytes())
    assert contexts.for_amqp() is before
    assert contexts.for_amqp() is before
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    config.key.write_bytes(other.key.read_bytes())
    assert contexts.for_amqp() is not before


def test_a_certificate_that_is_not_valid_yet_is_taken_when_it_is(
    config: TlsConfig, caplog: pytest.LogCaptureFixture
) -> None:
    now = utc_now()
    contexts = TlsContexts(config, lambda: now)
    before = contexts.for_amqp()
    os.utime(config.certificate, (1, 1))
    now -= timedelta(days=9_000)
    for _ in range(2):
        assert contexts.for_amqp() is before
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    now += timedelta(days=9_000)
    assert contexts.for_amqp() is not before


def test_files_that_vanish_leave_the_settings(config: TlsConfig) -> None:
    contexts = TlsContexts(config)
    before = contexts.for_amqp()
    config.certificate.unlink()
    assert contexts.for_amqp() is before
