"""The TLS session of a socket: none without TLS, a certificate only where it was verified."""

from __future__ import annotations

import asyncio
import ssl
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mqkit.testing.certificates import Authority
from reference_broker.runtime.tls import client
from reference_broker.runtime.tls.certificate_clock import utc_now
from reference_broker.runtime.tls.client import check_client, tls_session
from reference_broker.runtime.tls.config import LoginFrom

CIPHER = "ECDHE-RSA-AES256-SHA384"


class Tls:
    """As much of an :class:`ssl.SSLObject` as is read."""

    def __init__(self, certificate: bytes | None, mode: ssl.VerifyMode) -> None:
        self._certificate = certificate
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.verify_mode = mode

    def cipher(self) -> tuple[str, str, int]:
        return CIPHER, "TLSv1.2", 256

    def version(self) -> str:
        return "TLSv1.2"

    def getpeercert(self, binary_form: bool) -> bytes | None:
        assert binary_form
        return self._certificate


class Socket(asyncio.BaseTransport):
    """A transport that knows its TLS."""

    def __init__(self, tls: Tls | None) -> None:
        super().__init__({} if tls is None else {"ssl_object": tls})


@pytest.fixture
def certificate(tmp_path: Path) -> bytes:
    files = Authority(tmp_path).issue("ann", common_name="ann")
    pem = files.certificate.read_text()
    end = "-----END CERTIFICATE-----"
    return ssl.PEM_cert_to_DER_cert(pem[: pem.index(end) + len(end)])


def test_a_socket_without_tls_has_no_session() -> None:
    assert tls_session(Socket(None), LoginFrom.COMMON_NAME) is None


def test_a_session_has_the_verified_certificate(certificate: bytes) -> None:
    session = tls_session(Socket(Tls(certificate, ssl.CERT_OPTIONAL)), LoginFrom.COMMON_NAME)
    assert session is not None
    assert (session.protocol, session.cipher) == ("tlsv1.2", "aes_256_cbc")
    assert session.certificate is not None
    assert session.certificate.login_name == "ann"


def test_a_certificate_that_nobody_verified_is_not_looked_at(certificate: bytes) -> None:
    session = tls_session(Socket(Tls(certificate, ssl.CERT_NONE)), LoginFrom.COMMON_NAME)
    assert session is not None
    assert session.certificate is None


def test_a_client_that_shows_no_certificate_has_none() -> None:
    socket = Socket(Tls(None, ssl.CERT_OPTIONAL))
    session = tls_session(socket, LoginFrom.COMMON_NAME)
    assert session is not None
    assert session.certificate is None
    check_client(socket)


def test_a_certificate_that_has_expired_since_its_session_began_is_refused(
    certificate: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    socket = Socket(Tls(certificate, ssl.CERT_REQUIRED))
    check_client(socket)
    later: Any = utc_now() + timedelta(days=20_000)
    monkeypatch.setattr(client, "utc_now", lambda: later)
    with pytest.raises(ValueError, match="has expired"):
        check_client(socket)
