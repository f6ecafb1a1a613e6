"""Fingerprints of messages: 16 octets that are the same for the same message. Pure.

A message is the same when its id and its body are. An id alone would make of two messages one,
where a publisher counts anew after a restart; and a body alone, where equal bodies are meant.
"""

from __future__ import annotations

from hashlib import blake2b

from mqkit.message import Delivery

FINGERPRINT_OCTETS = 16
"""Among a million messages, two that differ are alike with a probability below 1e-26."""


def fingerprint(delivery: Delivery) -> bytes | None:
    """The message's; ``None`` where it has no id: such a message is never taken for another."""
    message_id = delivery.properties.message_id
    if message_id is None:
        return None
    name = message_id.encode("utf-8", "surrogateescape")
    # The length in front: id "a" with body "bc" is not id "ab" with body "c".
    digest = blake2b(len(name).to_bytes(4), digest_size=FINGERPRINT_OCTETS)
    digest.update(name)
    digest.update(delivery.body)
    return digest.digest()
