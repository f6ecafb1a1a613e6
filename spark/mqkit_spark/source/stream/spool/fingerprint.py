"""Fingerprints of messages: 16 octets that are the same for the same message. Pure.

A message is the same when its id and its body are. An id alone would make of two messages one,
where a publisher counts anew after a restart; and a body alone, where equal bodies are meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

FINGERPRINT_OCTETS = 16
"""Among a million messages, two that differ are alike with a probability below 1e-26."""

_LENGTHS = tuple(length.to_bytes(4) for length in range(256))
"""Of an id, which is a short string. In front of it: id "a" with body "bc" is not id "ab" with body
"c"."""

_FRESH = blake2b(digest_size=FINGERPRINT_OCTETS)


def fingerprints(
    message_ids: Iterable[bytes | None], bodies: Iterable[bytes]
) -> list[bytes | None]:
    """Those of messages, by the octets of their ids; ``None`` where there is no id: such a message
    is never taken for another."""
    # A copy costs less than a new one with its arguments.
    fresh, lengths, found = _FRESH.copy, _LENGTHS, list[bytes | None]()
    add = found.append
    for name, body in zip(message_ids, bodies, strict=True):
        if name is None:
            add(None)
            continue
        digest = fresh()
        digest.update(lengths[len(name)] + name + body)
        add(digest.digest())
    return found


def came_again(marks: Sequence[bytes | None], known: set[bytes]) -> set[int]:
    """The places of marks that are known, or stand further in front; all go to ``known``."""
    here = {mark for mark in marks if mark is not None}
    if len(here) == len(marks) - marks.count(None) and known.isdisjoint(here):
        known |= here
        return set()
    places = set[int]()
    for place, mark in enumerate(marks):
        if mark in known:
            places.add(place)
        elif mark is not None:
            known.add(mark)
    return places
