"""What a client speaks that does not begin with AMQP's header: for the log, where somebody looks
who has mistaken a port."""

from __future__ import annotations

_TLS_HANDSHAKE = b"\x16\x03"
_HTTP_METHODS = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PATC", b"CONN")


def foreign_protocol(data: bytes) -> str:
    """Why a connection with these first octets is ended."""
    if data.startswith(_TLS_HANDSHAKE):
        return "the client speaks TLS, and this port is the one without it"
    if data[:4] in _HTTP_METHODS:
        return "the client speaks HTTP, and this port is AMQP's"
    if data.startswith(b"AMQP"):
        return "the client speaks another version of AMQP"
    return "the client speaks another protocol"
