"""The TLS session of a socket and its client's certificate, read once when the handshake is over.

Every socket is asked, and most have no TLS. What reads certificates is six megabytes of code, which
a broker without TLS never loads; one with TLS has, to check its own.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

from reference_broker.core.base.tls_session import TlsSession
from reference_broker.runtime.tls.certificate_clock import utc_now
from reference_broker.runtime.tls.cipher_name import cipher_parts
from reference_broker.runtime.tls.config import LoginFrom

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from reference_broker.core.base.tls_session import PeerCertificate


def tls_session(transport: asyncio.BaseTransport, login_from: LoginFrom) -> TlsSession | None:
    """The TLS session of a socket; ``None`` for one without TLS. Raises ``ValueError`` for a
    certificate that OpenSSL accepts, and that can't be read nevertheless."""
    tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    if tls is None:
        return None
    cipher = tls.cipher()
    version = tls.version() or ""
    certificate = _certificate(tls)
    return TlsSession(
        version.lower(),
        *cipher_parts("" if cipher is None else cipher[0]),
        None if certificate is None else _peer(certificate, login_from),
    )


def check_client(transport: asyncio.BaseTransport) -> None:
    """Check that the client's certificate has not expired. Call it for every socket with TLS,
    whatever is spoken inside: the certificate was verified at the handshake that began its session,
    which may have been resumed since (Python can't turn that off for TLS 1.2).

    Raises ``ValueError`` for one that has expired, or can't be read.
    """
    certificate = _certificate(transport.get_extra_info("ssl_object"))
    if certificate is not None and utc_now() > certificate.not_valid_after_utc:
        raise ValueError("the client's certificate has expired since its session began")


def _peer(certificate: Certificate, login_from: LoginFrom) -> PeerCertificate:
    from reference_broker.runtime.tls.client_certificate import peer_certificate

    return peer_certificate(certificate, login_from)


def _certificate(tls: ssl.SSLObject) -> Certificate | None:
    """The client's certificate, or ``None``. A server without verification asks for none, so one
    that is there was verified."""
    if tls.context.verify_mode is ssl.CERT_NONE:
        return None
    from cryptography.x509 import load_der_x509_certificate

    encoded = tls.getpeercert(binary_form=True)
    return None if encoded is None else load_der_x509_certificate(encoded)
