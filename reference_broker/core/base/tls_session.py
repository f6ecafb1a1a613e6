"""The TLS session of a connection: its encryption, and the certificate of the client.

Values only. The runtime reads them from the socket once, when the handshake is over.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PeerCertificate:
    """A client's certificate, which was verified. ``subject`` and ``issuer`` are distinguished
    names as RabbitMQ writes them.

    ``login_name`` is the user it stands for, by the part of it that the operator has chosen;
    ``None`` where the certificate lacks that part.
    """

    subject: str
    issuer: str
    validity: str
    login_name: str | None


@dataclass(frozen=True, slots=True)
class TlsSession:
    """The encryption of one connection, by RabbitMQ's names (``tlsv1.3``, ``aes_256_gcm``).
    ``certificate`` is ``None`` for a client that has shown none, or was not asked to."""

    protocol: str
    key_exchange: str
    cipher: str
    hash: str
    certificate: PeerCertificate | None = None
