"""event_octets: transactions come back as they went, and what can't be read is refused."""

from __future__ import annotations

from random import Random

import pytest

from reference_broker.cluster.coordinator import Changed, Event
from reference_broker.cluster.metadata.event_octets import decode_transactions, encode_transactions
from reference_broker.errors import Corrupt

TRANSACTIONS = [
    Changed(7, (Event("def/queue/ä", b"value", 7, 0, 7), Event("live/a", b"", 7, 99, 3))),
    Changed(1 << 40, (Event("gone", None, 1 << 40),)),
    Changed((1 << 40) + 1, ()),
]


def test_they_come_back() -> None:
    assert decode_transactions(encode_transactions(TRANSACTIONS)) == TRANSACTIONS
    assert decode_transactions(b"") == []


def test_no_beginning_of_them_is_something_else() -> None:
    octets = encode_transactions(TRANSACTIONS)
    whole = {len(encode_transactions(TRANSACTIONS[:number])) for number in range(4)}
    for end in range(len(octets)):
        if end not in whole:
            with pytest.raises(Corrupt):
                decode_transactions(octets[:end])


def test_a_key_that_is_no_text() -> None:
    octets = encode_transactions([Changed(7, (Event("key", b"v", 7),))])
    with pytest.raises(Corrupt, match="no text"):
        decode_transactions(octets.replace(b"key", b"k\xffy"))


def test_a_value_of_less_than_nothing() -> None:
    octets = encode_transactions([Changed(7, (Event("key", None, 7),))])
    with pytest.raises(Corrupt, match="-2 octets"):
        decode_transactions(octets.replace(b"\xff\xff\xff\xff", b"\xff\xff\xff\xfe"))


def test_any_octets_are_read_or_refused() -> None:
    random = Random(1)
    octets = bytearray(encode_transactions(TRANSACTIONS))
    for _ in range(2_000):
        changed = bytearray(octets)
        changed[random.randrange(len(changed))] = random.randrange(256)
        try:
            decode_transactions(bytes(changed))
        except Corrupt:
            continue
