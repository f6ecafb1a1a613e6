"""What a socket's TLS says of its client, read once when the handshake is over."""

from __future__ import annotations

import asyncio
import ssl

from cryptography.x509 import load_der_x509_certificate

from reference_broker.core.tls_session import PeerCertificate, TlsSession
from reference_broker.runtime.cipher_name import cipher_parts
from reference_broker.runtime.client_certificate import peer_certificate
from reference_broker.runtime.tls_config import LoginFrom
from reference_broker.runtime.tls_files import utc_now


def tls_session(transport: asyncio.BaseTransport, login_from: LoginFrom) -> TlsSession | None:
    """``None`` for a socket without TLS. Raises ``ValueError`` for a certificate that OpenSSL
    accepts, and that can't be read nevertheless."""
    tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    if tls is None:
        return None
    cipher = tls.cipher()
    version = tls.version() or ""
    return TlsSession(
        version.lower(),
        *cipher_parts("" if cipher is None else cipher[0]),
        _certificate(tls, login_from),
    )


def _certificate(tls: ssl.SSLObject, login_from: LoginFrom) -> PeerCertificate | None:
    """A server without verification asks for none, so what is there was verified: at the handshake
    that began its session, which may have been resumed since (Python can't turn that off for TLS
    1.2). So its end is looked at again."""
    if tls.context.verify_mode is ssl.CERT_NONE:
        return None
    encoded = tls.getpeercert(binary_form=True)
    if encoded is None:
        return None
    certificate = load_der_x509_certificate(encoded)
    if utc_now() > certificate.not_valid_after_utc:
        raise ValueError("the client's certificate has expired since its session began")
    return peer_certificate(certificate, login_from)
