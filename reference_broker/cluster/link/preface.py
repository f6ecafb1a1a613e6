"""The preface of a connection: the first octets of whoever has dialled, before TLS and HELLO.

::

    "MQKN" | purpose u8

One address takes the connections of all purposes, and each purpose has a thread of its own: the
preface says which, while the socket is still anybody's. It is not believed; the HELLO says it
again, and that is proved.
"""

from __future__ import annotations

from reference_broker.cluster.link.hello import Purpose
from reference_broker.errors import LinkError

_MAGIC = b"MQKN"

PREFACE_BYTES = len(_MAGIC) + 1


def encode_preface(purpose: Purpose) -> bytes:
    """The octets to send first."""
    return _MAGIC + bytes([purpose])


def decode_preface(octets: bytes) -> Purpose:
    """The purpose of a connection that begins with these :data:`PREFACE_BYTES` octets. Raises
    :exc:`LinkError` for what is no preface, or one of a purpose that this version has no use
    for."""
    if not octets.startswith(_MAGIC):
        raise LinkError("somebody has connected who is no node of mqkit's")
    try:
        return Purpose(octets[len(_MAGIC)])
    except ValueError as error:
        raise LinkError(f"a connection of purpose {octets[-1]}, which there is not") from error
