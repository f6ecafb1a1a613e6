"""TLS columns of a connection, and the TLS options of a listening socket, in RabbitMQ's names."""

from __future__ import annotations

from reference_broker.core.base.tls_session import TlsSession
from reference_broker.http.request.answer import Row
from reference_broker.http.request.host import ListenerTls


def tls_columns(tls: TlsSession | None) -> Row:
    """The TLS columns of a connection. All are there also without TLS, and those of a certificate
    that was not shown: null, as RabbitMQ has them."""
    certificate = None if tls is None else tls.certificate
    return {
        "ssl": tls is not None,
        "ssl_protocol": None if tls is None else tls.protocol,
        "ssl_key_exchange": None if tls is None else tls.key_exchange,
        "ssl_cipher": None if tls is None else tls.cipher,
        "ssl_hash": None if tls is None else tls.hash,
        "peer_cert_subject": None if certificate is None else certificate.subject,
        "peer_cert_issuer": None if certificate is None else certificate.issuer,
        "peer_cert_validity": None if certificate is None else certificate.validity,
    }


def tls_options(tls: ListenerTls | None) -> Row:
    """The TLS options of a listening socket; nothing for one without TLS."""
    if tls is None:
        return {}
    return {
        "versions": list(tls.versions),
        "certfile": str(tls.certificate),
        "keyfile": str(tls.key),
        **({} if tls.authority is None else {"cacertfile": str(tls.authority)}),
        "verify": "verify_peer" if tls.verifies else "verify_none",
        "fail_if_no_peer_cert": tls.requires,
    }
