"""preface: the first octets of a connection."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link.hello import Purpose
from reference_broker.cluster.link.preface import PREFACE_BYTES, decode_preface, encode_preface
from reference_broker.errors import LinkError


@pytest.mark.parametrize("purpose", Purpose)
def test_it_says_the_purpose(purpose: Purpose) -> None:
    octets = encode_preface(purpose)
    assert len(octets) == PREFACE_BYTES
    assert decode_preface(octets) is purpose


@pytest.mark.parametrize("octets", [b"AMQP\0", b"GET /", b"\x16\x03\x01\x02\0", bytes(5)])
def test_somebody_else(octets: bytes) -> None:
    with pytest.raises(LinkError, match="no node of mqkit's"):
        decode_preface(octets)


def test_a_purpose_of_a_later_version() -> None:
    with pytest.raises(LinkError, match="purpose 9, which there is not"):
        decode_preface(b"MQKN\x09")
