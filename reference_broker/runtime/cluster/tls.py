"""TLS of links, and the words for a handshake that fails: what an operator has to look at."""

from __future__ import annotations

import ssl
from typing import NamedTuple

FILES = "--cluster-tls-cert, --cluster-tls-key and --cluster-tls-ca"

_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "BAD_RECORD_TYPE"})
"""OpenSSL's reasons for octets that are no TLS."""


class LinkTls(NamedTuple):
    """TLS for links, both ways."""

    accepting: ssl.SSLContext
    dialling: ssl.SSLContext


def tls_failure(error: OSError) -> str:
    """The reason of a handshake of TLS that has failed with ``error``, in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"the other node's certificate is not valid here: {error.verify_message.rstrip('.')}"
            " (all nodes need certificates that an authority of --cluster-tls-ca has signed)"
        )
    reason = getattr(error, "reason", None) or ""
    if reason in _NO_TLS:
        return f"the other node has no TLS (all nodes need {FILES}, or none of them)"
    if "_ALERT_" in reason:
        told = reason.partition("_ALERT_")[2].lower().replace("_", " ")
        return f"the other node refuses this one's certificate, or its TLS: {told}"
    ended = "the other node has ended the handshake of TLS, and its log says why"
    return f"{ended}: {error}" if str(error) else ended
