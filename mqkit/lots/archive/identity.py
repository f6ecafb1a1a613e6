"""The key by which a message in a lot is known again. Pure.

A message with an id and a time of parking is known by the two: a restore after a kill meets it with
the same. Every other one is known by a digest of all that it is, but for the count of deliveries
that a quorum queue writes on it anew each time (``x-delivery-count``).
"""

from __future__ import annotations

import hashlib

from mqkit.lots.archive.record import Record
from mqkit.lots.parked_time import parked_time
from mqkit.transport.native.exact import octets_of, wire_properties
from mqkit.wire import WireError

KEY_OCTETS = 16
"""A hundred million messages meet by chance once in 10**22 lots."""

DELIVERY_COUNT = "x-delivery-count"


def key_of(record: Record) -> bytes:
    """Equal for what is the same message. Two equal messages without an id have one key: count
    them."""
    digest = hashlib.blake2b(digest_size=KEY_OCTETS)
    message_id = record.properties.message_id
    time = parked_time(record.properties.headers)
    if message_id and time is not None:
        digest.update(f"id {time.isoformat()} {message_id}".encode("utf-8", "surrogateescape"))
    else:
        octets = _without_count(record.properties.octets)
        digest.update(b"all %d " % len(octets) + octets)
        digest.update(record.body)
    return digest.digest()


def name_of(record: Record) -> str:
    """The message id, or a text in its place that begins with ``sha256:``."""
    if record.properties.message_id:
        return record.properties.message_id
    return f"sha256:{hashlib.sha256(record.body).hexdigest()[:16]} (no id)"


def _without_count(octets: bytes) -> bytes:
    try:
        wire = wire_properties(octets)
    except WireError:
        return octets
    kept = {name: each for name, each in (wire.headers or {}).items() if name != DELIVERY_COUNT}
    wire.headers = kept or None
    return octets_of(wire)
